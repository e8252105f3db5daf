"""``python -m engine.components.scan``: import one nodeset file, report what it declares, end.

The request is JSON on fd 0, which is empty before the nodeset is imported; the report is a line of JSON on a
descriptor of its own, so that the nodeset may print what it likes.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import msgspec

from engine.components.catalog import NodesetManifest, PortsManifest
from engine.components.describe import DeclarationError, describe_nodeset, resolve_ports
from engine.components.loading import load_classes, load_nodeset, nodeset_home

_LONGEST = 2000


class ScanRequest(msgspec.Struct, kw_only=True):
    """For the manifests in ``path``; or, where ``node_type`` is given, for its ports under ``config``.

    ``workspaces``: as of :func:`engine.components.loading.load_nodeset`.
    """

    path: str
    workspaces: tuple[str, ...] = ()
    nodeset: str = ""
    node_type: str = ""
    config: dict[str, Any] = {}


class ScanReport(msgspec.Struct, kw_only=True):
    """``errors`` stand beside the manifests: one bad class does not take its neighbours along.
    ``endless``: the one error is that it took too long.
    """

    manifests: tuple[NodesetManifest, ...] = ()
    ports: PortsManifest | None = None
    errors: tuple[str, ...] = ()
    endless: bool = False


def answer(request: ScanRequest) -> ScanReport:
    """Import and describe; every way of failing but the process's own end becomes an error text."""
    home = nodeset_home(request.path)
    try:
        if request.node_type:
            return ScanReport(ports=_resolved(home, request))
        classes = load_classes(home, request.workspaces)
    except BaseException as error:
        return ScanReport(errors=(explain(error, home),))
    manifests: list[NodesetManifest] = []
    errors: list[str] = []
    for declared in classes:
        try:
            manifests.append(describe_nodeset(declared, home))
        except DeclarationError as error:
            errors.append(str(error)[:_LONGEST])
        except BaseException as error:
            errors.append(f"class {declared.__name__}: {explain(error, home)}")
    return ScanReport(manifests=tuple(manifests), errors=tuple(errors))


def explain(error: BaseException, home: Path) -> str:
    """What a nodeset's code raised, where in its own source, and the remedy where there is one."""
    if isinstance(error, DeclarationError):
        return str(error)[:_LONGEST]
    if isinstance(error, SystemExit):
        text = f"it calls sys.exit({error.code!r})"
    else:
        text = f"{type(error).__name__}: {error}"[:_LONGEST]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if home == Path(frame.filename) or home in Path(frame.filename).parents:
            text += f" ({Path(frame.filename).name}, line {frame.lineno})"
            break
    if isinstance(error, ModuleNotFoundError):
        text += f"; install it for {sys.executable}, or import it in initialize()"
    return text


def main() -> None:
    """``argv``: the descriptor to report on, and the seconds after which the process ends by itself."""
    report_fd, deadline = int(sys.argv[1]), float(sys.argv[2])
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=ScanRequest)
    sys.argv = [request.path]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.set_inheritable(report_fd, False)
    # Whoever asked ends this process at the deadline; should they be gone, the kernel does, GIL or not.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(math.ceil(deadline) + 1)
    report = answer(request)
    with os.fdopen(report_fd, "wb") as stream:
        stream.write(_encoded(report) + b"\n")
    os._exit(0)  # not waiting for the threads that the nodeset may have started


def _resolved(home: Path, request: ScanRequest) -> PortsManifest:
    for tool in load_nodeset(home, request.nodeset, request.workspaces).get_tools():
        if tool.node_type == request.node_type:
            return resolve_ports(tool, request.config)
    raise DeclarationError(f"nodeset {request.nodeset!r} has no tool {request.node_type!r} any more")


def _encoded(report: ScanReport) -> bytes:
    try:
        return msgspec.json.encode(report)
    except ValueError as error:  # lone surrogates
        return msgspec.json.encode(ScanReport(errors=(f"its texts are not Unicode: {error!a}",)))


if __name__ == "__main__":
    main()
