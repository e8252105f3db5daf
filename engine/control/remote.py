"""The verbs where the backend is another process: reading from disk, everything else over REST."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from engine.control import verify
from engine.control.calling import Caller
from engine.control.queue_reports import (
    BackendReport,
    CancelReport,
    EstimateReport,
    PlayReport,
    QueueReport,
    ResourcesReport,
    ServerReport,
)
from engine.control.reach import set_here
from engine.control.reader import Reader
from engine.control.reports import NOTHING_MORE, RefusedError, Sources, StartRequest, VerifyReport
from engine.control.scoring import NOT_SCORED, checked_beside
from engine.graph.model import Problem
from engine.scheduling.need import Priority

_EVAL = "/api/eval/v2"
_SYSTEM = "/api/system"
_NODESETS = "/api/components/nodesets"

T = TypeVar("T")


class _Started(msgspec.Struct):
    run_id: str


class _Placed(msgspec.Struct):
    position: int


class RemoteControl(Reader):
    """:class:`engine.control.protocol.Control` over the backend that lives; a verb that needs it raises
    NoBackendError where none does."""

    def __init__(self, root: Path, caller: Caller) -> None:
        super().__init__(root)
        self._caller = caller

    def start(self, request: StartRequest) -> str:
        return self._post(
            f"{_EVAL}/start", _with_secrets(self.root, _whole(self.root, request)), _Started
        ).run_id

    def cancel(self, run: str, grace_sec: float | None = None) -> CancelReport:
        return self._post(f"{self._run(run)}/cancel", {"grace_sec": grace_sec}, CancelReport)

    def resume(self, run: str, *, errors: bool = False) -> None:
        self._post(f"{self._run(run)}/resume", {"errors": errors})

    def rescore(
        self, run: str, scoring: Mapping[str, Any] | None = None, caller_secrets: Collection[str] = ()
    ) -> None:
        told = {"scoring": scoring, "caller_secrets": [*caller_secrets, *set_here(self.root)]}
        self._post(f"{self._run(run)}/rescore", told)

    def delete(self, run: str) -> None:
        self._caller.call("DELETE", self._run(run))

    def queue(self) -> QueueReport:
        told = self._get(f"{_EVAL}/queue", dict[str, Any])
        for run in told["running"]:
            run["admit_basis"] = run.pop("admit_bases")
        return msgspec.convert(told, QueueReport)

    def pause(self) -> None:
        self._post(f"{_EVAL}/queue/pause")

    def unpause(self) -> None:
        self._post(f"{_EVAL}/queue/resume")

    def hold(self, run: str) -> None:
        self._post(f"{self._run(run)}/hold")

    def release(self, run: str) -> None:
        self._post(f"{self._run(run)}/release")

    def move(self, run: str, position: int) -> int:
        return self._post(f"{self._run(run)}/move", {"position": position}, _Placed).position

    def prioritize(self, run: str, priority: Priority) -> int:
        return self._post(f"{self._run(run)}/priority", {"priority": priority}, _Placed).position

    def estimate(
        self,
        graph: str | dict[str, Any],
        worker_count: int,
        sources: Sources = NOTHING_MORE,
        selectors: Mapping[str, Any] | None = None,
    ) -> EstimateReport:
        name, content = (graph, None) if isinstance(graph, str) else ("", graph)
        asked = _whole(self.root, StartRequest(graph_name=name, graph=content, scoring=NOT_SCORED))
        body = {"graph_name": asked.graph_name, "graph": asked.graph, "worker_count": worker_count}
        body["selectors"] = dict(selectors or {})
        report = self._post(f"{_EVAL}/estimate", body | msgspec.to_builtins(sources), EstimateReport)
        return msgspec.structs.replace(report, graph_name=asked.graph_name or report.graph_name)

    def resources(self) -> ResourcesReport:
        return self._get(f"{_SYSTEM}/resources", ResourcesReport)

    def servers(self) -> list[ServerReport]:
        return self._get(_NODESETS, list[ServerReport])

    def load_server(self, nodeset: str) -> ServerReport:
        return self._post(f"{_NODESETS}/{quote(nodeset, safe='')}/load", {}, ServerReport)

    def unload_server(self, nodeset: str) -> ServerReport:
        return self._post(f"{_NODESETS}/{quote(nodeset, safe='')}/unload", {}, ServerReport)

    def play(self, request: StartRequest) -> str:
        return self._post(
            f"{_EVAL}/play", _with_secrets(self.root, _whole(self.root, request)), _Started
        ).run_id

    def play_state(self, run: str) -> PlayReport:
        return self._get(self._play(run), PlayReport)

    def play_step(self, run: str, steps: int = 1) -> PlayReport:
        return self._post(f"{self._play(run)}/step", {"steps": steps}, PlayReport)

    def play_run(self, run: str) -> PlayReport:
        return self._post(f"{self._play(run)}/run", {}, PlayReport)

    def play_stop(self, run: str) -> PlayReport:
        return self._post(f"{self._play(run)}/stop", {}, PlayReport)

    def backend(self) -> BackendReport:
        return self._get(f"{_SYSTEM}/backend", BackendReport)

    def stop_backend(self, *, cancel: bool = False) -> None:
        self._post(f"{_SYSTEM}/backend/stop", {"cancel": cancel})

    def verify(
        self, request: StartRequest, worker_counts: Sequence[int], watch: Callable[[str], None]
    ) -> VerifyReport:
        return verify.run_and_compare(self, request, worker_counts, watch)

    def _run(self, run: str) -> str:
        return f"{_EVAL}/runs/{self.find(run).run_id}"

    def _play(self, run: str) -> str:
        return f"{_EVAL}/play/{self.find(run).run_id}"

    def _get(self, path: str, answer: type[T]) -> T:
        return msgspec.json.decode(self._caller.call("GET", path), type=answer)

    def _post(self, path: str, body: Any = None, answer: type[T] = object) -> T:  # type: ignore[assignment]
        return msgspec.json.decode(self._caller.call("POST", path, body), type=answer)


@contextmanager
def open_remote(root: Path) -> Iterator[RemoteControl]:
    """The verbs for a root, as long as they are needed."""
    with Caller(root) as caller:
        yield RemoteControl(root, caller)


def _with_secrets(root: Path, request: StartRequest) -> StartRequest:
    """The request, and the names of the secrets and keys that are set here: the run has the backend's, not
    these."""
    return msgspec.structs.replace(request, caller_secrets=[*request.caller_secrets, *set_here(root)])


def _whole(root: Path, request: StartRequest) -> StartRequest:
    """The request with the graph in it where it names a file, and what the file beside it says: the backend
    stands in another folder."""
    path = Path(request.graph_name)
    if request.graph or not request.graph_name or not path.is_file():
        return request
    try:
        graph = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RefusedError([Problem("unreadable", str(path), str(error))]) from None
    scoring = request.scoring or checked_beside(root, path)
    return msgspec.structs.replace(request, graph=graph, graph_name=path.stem, scoring=scoring)
