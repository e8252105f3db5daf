"""A nodeset in a process of its own, under its own interpreter (Python 3.8+). Run by file path:

    PYTHON host.py --nodeset PATH --name NAME --socket PATH --ready-fd N --lifeline-fd M [--run ID]
    PYTHON host.py --nodeset PATH --name NAME --address HOST --ready-fd N --lifeline-fd M [--run ID]
    PYTHON host.py --nodeset PATH --name NAME --port N
    PYTHON host.py --nodeset PATH --name NAME --requirements

Serves HTTP on the Unix socket (see ``host_server``); with an address, on a free port of this machine, which
others know as HOST, for whoever has the token of its environment. Says once, on the ready descriptor and as
one line of JSON, ``{"url", "pid"}`` or ``{"error", "trace"}``. Whoever starts it gives it a session of its
own; the kernel ends its process group when the lifeline's other end is closed, even while the nodeset holds
the GIL.
--ram-mb is for who looks at the list of processes: see ``memory_guard``.
With a port it is one's own to start and to stop, and says its line on stdout. With --requirements it serves
nothing: it says on stdout what the nodeset needs of this machine, and what of that is there.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import fcntl
import json
import os
import select
import signal
import sys
import traceback
from contextlib import suppress
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
_ENGINE = _HERE.parent
_NEEDED = ("aiohttp", "msgspec", "numpy")
_F_SETSIG = 10  # Linux's fcntl command, which Python's module does not name everywhere
_PR_SET_PDEATHSIG = 1
_OOM_SCORE_ADJ = 500
"""As good as half of the machine's memory on top of its own, where the kernel looks for whom to end."""


class _EngineFinder:
    """Finds our package alone, so that nothing installed beside it stands before this interpreter's own."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != "engine":
            return None
        return spec_from_file_location(
            fullname, _ENGINE / "__init__.py", submodule_search_locations=[str(_ENGINE)]
        )


class Ready:
    """The one line that tells the parent how the start went."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.said = False

    def up(self, url: str) -> None:
        self._say({"url": url, "pid": os.getpid()})

    def failed(self, error: BaseException) -> None:
        self._say({"error": _summary(error), "trace": traceback.format_exc()})

    def _say(self, message: dict[str, Any]) -> None:
        self.said = True
        with os.fdopen(self._fd, "w") as pipe:
            pipe.write(json.dumps(message) + "\n")


def main() -> None:
    sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != _HERE]
    sys.meta_path.insert(0, _EngineFinder)
    arguments = _arguments()
    if arguments.requirements:
        _say_requirements(arguments)
        return
    _go_first()
    by_hand = arguments.port is not None
    token = _token(arguments)
    if not by_hand:
        for fd in (arguments.ready_fd, arguments.lifeline_fd):
            os.set_inheritable(fd, False)
        _die_with(arguments.lifeline_fd)
    faulthandler.enable()  # where it was when a signal ended it goes to the log
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    ready = Ready(os.dup(1) if by_hand else arguments.ready_fd)
    try:
        from engine.hosting.host_server import Place, serve

        place = Place(arguments.socket or "", arguments.address or "", token, arguments.port or 0)
        nodeset, workspaces = arguments.nodeset, arguments.workspace
        asyncio.run(serve(nodeset, arguments.name, workspaces, place, arguments.run, ready.up))
    except BaseException as error:
        if ready.said:
            raise
        ready.failed(error)
        sys.exit(1)  # its parent has the traceback; a second one would bury what was printed


def _say_requirements(arguments: argparse.Namespace) -> None:
    """On stdout, which what the nodeset imports must not write to."""
    answer = os.dup(1)
    os.dup2(2, 1)
    from engine.hosting.host_requirements import requirements_line

    with os.fdopen(answer, "w") as stream:
        stream.write(requirements_line(arguments.nodeset, arguments.name, arguments.workspace))
        stream.flush()
        os._exit(0)  # not waiting for threads that what it imported may have started


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Hosts one nodeset; started by Evaltower.")
    parser.add_argument("--nodeset", required=True, help="its file or folder")
    parser.add_argument("--name", required=True)
    parser.add_argument(
        "--workspace", action="append", default=[], help="where else its workspace.… imports may lie"
    )
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--socket", help="path of the Unix socket to serve on")
    place.add_argument("--address", help="what other machines call this one; for who has the token")
    place.add_argument("--port", type=int, help="port of 127.0.0.1 to serve on; 0 for a free one")
    place.add_argument("--requirements", action="store_true", help="say what it needs, as JSON, and end")
    parser.add_argument("--ready-fd", type=int)
    parser.add_argument("--lifeline-fd", type=int)
    parser.add_argument("--run", default="", help="the run that it belongs to")
    parser.add_argument("--ram-mb", type=int, help="what it is said to take; 0: nobody said")
    return parser.parse_args()


def _token(arguments: argparse.Namespace) -> str:
    """Taken out of the environment: nothing that the nodeset starts is to have it."""
    from engine.hosting.host_token import TOKEN_VARIABLE

    token = os.environ.pop(TOKEN_VARIABLE, "")
    if arguments.address is not None and not token:
        sys.exit(f"--address wants {TOKEN_VARIABLE} in the environment: else anybody could call it")
    return token


def _go_first() -> None:
    """Where memory runs out, have the kernel end us and what we start, and nobody else."""
    with suppress(OSError, ValueError):
        adjustment = Path("/proc/self/oom_score_adj")
        if int(adjustment.read_text()) < _OOM_SCORE_ADJ:
            adjustment.write_text(str(_OOM_SCORE_ADJ))


def _die_with(lifeline: int) -> None:
    """Have the kernel kill our process group when the lifeline's write end is closed."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, _F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    closed_before = select.poll()
    closed_before.register(lifeline, 0)
    if closed_before.poll(0):
        os._exit(1)
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (ImportError, OSError, AttributeError):
        return  # an interpreter without ctypes: the lifeline alone has to do


def _summary(error: BaseException) -> str:
    summary = f"{type(error).__name__}: {error}"
    if isinstance(error, ImportError) and error.name in _NEEDED:
        summary += f" ({sys.executable} needs it to host a nodeset: pip install {' '.join(_NEEDED)})"
    return summary


if __name__ == "__main__":
    main()
