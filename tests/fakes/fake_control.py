"""A control without a backend: runs are read from disk; verbs that change something are taken down."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.cli.app import Need, OpenControl
from engine.control.queue_reports import (
    BackendReport,
    CancelReport,
    EstimateReport,
    HostReport,
    QueuedRun,
    QueueReport,
    ResourcesReport,
    RunningRun,
    ServerReport,
)
from engine.control.reader import Reader
from engine.control.reports import NOTHING_MORE, NoBackendError, Sources, StartRequest
from engine.store.atomic import write_json
from engine.store.process_identity import identity
from engine.store.records import Job, RunStatus
from engine.store.rundir import RunDir
from tests.fakes.finished_runs import make_run

NOBODY = "no backend answers for this root: start one with evaltower --serve"


class FakeControl(Reader):
    """calls: (verb, arguments) in their order. report: what ``queue`` answers; looks: called before each.
    refuses: verb → the error that it raises."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.calls: list[tuple[Any, ...]] = []
        self.report = QueueReport()
        self.estimated = EstimateReport(
            graph_name="toy", worker_count=1, resources={}, max_workers=1, fits=True
        )
        self.machine = ResourcesReport(driver="absent", gpus=[], host=HostReport(name="box", cpu_count=8))
        self.served: list[ServerReport] = []
        self.looks: list[Callable[[], None]] = []
        self.refuses: dict[str, Exception] = {}
        self.started: list[StartRequest] = []
        self.address = BackendReport(
            pid=7, version="1", root=str(root), started_at="", url="http://127.0.0.1:9"
        )

    def _take(self, *call: Any) -> None:
        self.calls.append(call)
        if call[0] in self.refuses:
            raise self.refuses[call[0]]

    def start(self, request: StartRequest) -> str:
        self._take("start", request.graph_name)
        self.started.append(request)
        return make_waiting(self.root).run_id

    def cancel(self, run: str, grace_sec: float | None = None) -> CancelReport:
        found = self.find(run)
        self._take("cancel", found.run_id, grace_sec)
        end(found, "cancelled")
        return CancelReport(run_id=found.run_id, status="cancelled")

    def resume(self, run: str, *, errors: bool = False) -> None:
        self._take("resume", run, errors)

    def rescore(
        self, run: str, scoring: Mapping[str, Any] | None = None, caller_secrets: Collection[str] = ()
    ) -> None:
        self._take("rescore", run, scoring)

    def delete(self, run: str) -> None:
        self._take("delete", run)

    def queue(self) -> QueueReport:
        if self.looks:
            self.looks.pop(0)()
        if "queue" in self.refuses:
            raise self.refuses["queue"]
        return self.report

    def pause(self) -> None:
        self._take("pause")

    def unpause(self) -> None:
        self._take("unpause")

    def hold(self, run: str) -> None:
        self._take("hold", run)

    def release(self, run: str) -> None:
        self._take("release", run)

    def move(self, run: str, position: int) -> int:
        self._take("move", run, position)
        return position

    def prioritize(self, run: str, priority: str) -> int:
        self._take("prioritize", run, priority)
        return 2

    def estimate(
        self, graph: str, worker_count: int, sources: Sources = NOTHING_MORE, selectors: Any = None
    ) -> EstimateReport:
        self._take("estimate", graph, worker_count, *([selectors] if selectors else []))
        return self.estimated

    def resources(self) -> ResourcesReport:
        return self.machine

    def servers(self) -> list[ServerReport]:
        return self.served

    def backend(self) -> BackendReport:
        return self.address

    def stop_backend(self, *, cancel: bool = False) -> None:
        self._take("stop", cancel)


def opening(control: FakeControl, alive: bool = True) -> OpenControl:
    """What opens ``control``; not ``alive``: there is no backend to operate."""

    @contextmanager
    def open_control(root: str | None, need: Need) -> Iterator[Any]:
        if need == "operate" and not alive:
            raise NoBackendError(NOBODY)
        yield control

    return open_control


def make_waiting(root: Path, status: RunStatus = "pending") -> RunDir:
    """A run that waits, or runs: this process holds it."""
    run = make_run(root, rows=(), status=status, total_episodes=0)
    run.done.unlink()
    write_json(run.job, Job(run_id=run.run_id, state="queued", process=identity()))
    return run


def end(run: RunDir, status: RunStatus = "completed") -> None:
    """Let it be over."""
    summary = run.read_summary()
    summary.status = status
    write_json(run.summary, summary)
    run.mark_done()


def queued(run: str, position: int = 1, **more: Any) -> QueuedRun:
    fields = {"graph_name": "toy", "priority": "normal", "submitted_at": "2026-05-18T12:00:00.000+00:00"}
    return QueuedRun(run_id=run, position=position, **(fields | more))


def admitted(run: str, **more: Any) -> RunningRun:
    return RunningRun(run_id=run, **({"graph_name": "toy"} | more))
