"""What a graph's environment says of itself: asked in a process of its own, once for each source.

``python -m engine.control.introspection`` is that process: a request on stdin, the answer on stdout. A host
ends with the process, and with the thread, that started it, which therefore is none of the backend's.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from engine.components.catalog import NodesetManifest, environment_of
from engine.control.checking import Prepared
from engine.control.queue_reports import IntrospectReport
from engine.control.reports import ControlError, RefusedError, StartRequest
from engine.graph.model import Graph
from engine.graph.splits import usual_split
from engine.store.importable import importable
from engine.store.offers import Misfit, Offer, episodes_misfit, keep_offer, last_offer, offer_of, split_misfit

if TYPE_CHECKING:
    from engine.hosting.client import HostClient

ANSWER_SEC = 30.0
"""For each answer, and for its end, beyond the nodeset's own deadline for its start."""

KEPT = 64


class _Request(msgspec.Struct, frozen=True):
    name: str
    path: str
    python: str
    env: dict[str, str]
    workspaces: list[str]
    start_sec: float


class _Answer(msgspec.Struct):
    """error: why there is none."""

    metadata: dict[str, Any] = {}
    panel: dict[str, Any] | None = None
    error: str = ""


_answers: OrderedDict[bytes, _Answer] = OrderedDict()
_asking: dict[bytes, threading.Lock] = {}
_access = threading.Lock()


def introspect(prepared: Prepared, root: Path) -> IntrospectReport:
    """Ask the environment of a graph. RefusedError for a graph that cannot be read; ControlError where the
    environment does not answer."""
    if prepared.graph is None:
        raise RefusedError(prepared.problems)
    env = environment_of(prepared.nodesets)
    if env is None:
        return IntrospectReport(graph_name=prepared.name, env_nodeset=None, loaded=False)
    answer = _asked_once(env, root)
    return IntrospectReport(
        graph_name=prepared.name,
        env_nodeset=env.name,
        loaded=True,
        metadata=answer.metadata,
        split=usual_split(prepared.graph.eval_split, [*map(str, answer.metadata.get("splits") or ())]),
        panel=answer.panel,
    )


def misfit_of(graph: Graph, env: NodesetManifest | None, request: StartRequest, root: Path) -> Misfit | None:
    """The split or the episodes that the environment does not have, where it has told what it has: then it is
    asked again, as its data may have changed. What selectors or a data set may change is left to the run,
    and so is what another machine has."""
    if env is None or env.origin == "server" or request.on:
        return None
    if request.dataset or request.selectors or request.episode_selectors:
        return None
    known = last_offer(env)
    if known is None or _misfit(graph, request, known) is None:
        return None
    try:
        answer = _asked_once(env, root, again=True)
    except ControlError:  # the run tells
        return None
    return _misfit(graph, request, offer_of(answer.metadata))


def _misfit(graph: Graph, request: StartRequest, offer: Offer) -> Misfit | None:
    split = request.split or usual_split(graph.eval_split, offer.splits)
    return split_misfit(request.split, offer.splits) or episodes_misfit(
        request.episode_count,
        request.start_episode_index,
        request.episode_indices,
        offer.counts.get(split),
    )


def _asked_once(env: NodesetManifest, root: Path, *, again: bool = False) -> _Answer:
    key = msgspec.json.encode([env.name, env.source_hash, env.server_python, sorted(env.env.items())])
    with _access:
        lock = _asking.setdefault(key, threading.Lock())
    with lock:
        if again or key not in _answers:
            _answers[key] = _ask(env, root)
            keep_offer(env, offer_of(_answers[key].metadata))
            while len(_answers) > KEPT:
                _answers.popitem(last=False)
        return _answers[key]


def _ask(env: NodesetManifest, root: Path) -> _Answer:
    request = _Request(
        name=env.name,
        path=env.path,
        python=env.server_python or sys.executable,
        env=env.env,
        workspaces=list(env.workspaces),
        start_sec=env.start_deadline_sec,
    )
    # Whoever is killed takes the host with it: it holds a lifeline of that process.
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__],
            input=msgspec.json.encode(request),
            capture_output=True,
            cwd=root,
            env=importable(os.environ),
            timeout=env.start_deadline_sec + 3 * ANSWER_SEC,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ControlError(f"nodeset {env.name!r} did not answer within {error.timeout:g} s") from None
    except OSError as error:
        raise ControlError(f"nodeset {env.name!r} cannot be asked: {error}") from None
    if done.returncode != 0:
        raise ControlError(f"nodeset {env.name!r} cannot be asked: exit code {done.returncode}")
    answer = msgspec.json.decode(done.stdout, type=_Answer)
    if answer.error:
        raise ControlError(answer.error)
    return answer


async def _answer(request: _Request) -> _Answer:
    from engine.hosting.process import HostProcess, HostSpec, make_socket_dir

    sockets = make_socket_dir()
    spec = HostSpec(
        name=request.name,
        path=Path(request.path),
        log_path=sockets / "host.log",  # its last lines are in the error of a start that fails
        socket_dir=sockets,
        python=request.python,
        env=request.env,
        run="introspection",
        workspaces=request.workspaces,
    )
    try:
        host = await HostProcess.start(spec, request.start_sec)
        client = host.connect("introspection")
        try:
            metadata = await client.metadata(ANSWER_SEC)
            panel = await _panel(client)
        finally:
            await client.close()
            await host.stop(ANSWER_SEC)
    finally:
        shutil.rmtree(sockets, ignore_errors=True)
    return _Answer(metadata if isinstance(metadata, dict) else {}, panel)


async def _panel(client: HostClient) -> dict[str, Any] | None:
    """The panel's schema, with what its select fields offer."""
    info = await client.panel_info(ANSWER_SEC)
    if not isinstance(info, dict):
        return None
    for field in info.get("fields", []):
        if field.get("kind") == "select" and not field.get("options"):
            field["options"] = await client.panel_options(field["name"], ANSWER_SEC)
    return info


def main() -> None:
    from engine.store.strict_json import encode

    request = msgspec.json.decode(sys.stdin.buffer.read(), type=_Request)
    try:
        answer = asyncio.run(_answer(request))
    except Exception as error:  # a host that fails, or whatever the nodeset's own code raises
        answer = _Answer(error=f"nodeset {request.name!r}: {error}")
    sys.stdout.buffer.write(encode(answer))


if __name__ == "__main__":
    main()
