"""A control in memory, for the screen: what it tells is set, what it is asked is taken down."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from engine.control.comparing import CompareReport
from engine.control.queue_reports import (
    BackendReport,
    CancelReport,
    EstimateReport,
    GpuReport,
    GraphEntry,
    HostReport,
    IntrospectReport,
    PlayReport,
    QueueReport,
    ResourcesReport,
    ServerReport,
)
from engine.control.reports import CheckReport, NotFoundError, RunReport, StartRequest
from engine.control.results import Results
from engine.control.scoring_report import ScoringReport, report_of
from engine.statistics.aggregate import aggregate
from engine.statistics.budget import headline
from engine.store.records import (
    EpisodeRow,
    MetricStats,
    Progress,
    RunStatus,
    SummaryConfig,
    SummaryHead,
    WorkerProgress,
)
from tests.fakes.clock import START
from tests.fakes.fake_control import admitted, queued
from tests.fakes.finished_runs import fake_row


def moment(seconds_ago: float) -> str:
    """An ISO time, before the fake clock's start."""
    return (START - timedelta(seconds=seconds_ago)).isoformat(timespec="milliseconds")


class FakeControl:
    """:class:`engine.control.protocol.Control` as far as the screen asks. Every answer is a field to be set.

    reports: newest first. rows: run → its finished episodes. calls: (verb, arguments…) that change something.
    refuses: verb → the error that it raises. answers: verb → what it gives in place of the usual.
    """

    def __init__(self, root: Path = Path("/nowhere"), reports: Sequence[RunReport] = ()) -> None:
        self.root = root
        self.reports = list(reports)
        self.rows: dict[str, list[EpisodeRow]] = {}
        self.queue_report = QueueReport()
        self.resources_report = ResourcesReport(driver="absent", gpus=[], host=HOST)
        self.backend_report = BackendReport(
            pid=4121, version="0.1.0", root=str(root), started_at=moment(3600), url="http://127.0.0.1:8765"
        )
        self.server_reports: list[ServerReport] = []
        self.graph_entries: list[GraphEntry] = []
        self.answers: dict[str, Any] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.refuses: dict[str, Exception] = {}

    def _told(self, verb: str, usual: Callable[[], Any]) -> Any:
        if verb in self.refuses:
            raise self.refuses[verb]
        return self.answers[verb] if verb in self.answers else usual()

    def _take(self, verb: str, *arguments: Any, usual: Any = None) -> Any:
        self.calls.append((verb, *arguments))
        return self._told(verb, lambda: usual)

    def runs(self, *, limit: int | None = None, **more: Any) -> list[RunReport]:
        return self._told("runs", lambda: self.reports[:limit])

    def show(self, run: str) -> RunReport:
        return self._told("show", lambda: self._find(run))

    def episodes(self, run: str) -> list[EpisodeRow]:
        return self._told("episodes", lambda: list(self.rows.get(run, ())))

    def results(self, run: str, metric: str | None = None) -> Results:
        return self._told("results", lambda: results_from(self.rows.get(run, []), metric))

    def scoring(self, run: str) -> ScoringReport:
        return self._told("scoring", lambda: report_of(self.rows.get(run, []), self.show(run).status))

    def queue(self) -> QueueReport:
        return self._told("queue", lambda: self.queue_report)

    def resources(self) -> ResourcesReport:
        return self._told("resources", lambda: self.resources_report)

    def servers(self) -> list[ServerReport]:
        return self._told("servers", lambda: self.server_reports)

    def backend(self) -> BackendReport:
        return self._told("backend", lambda: self.backend_report)

    def graphs(self, sources: Any = None) -> list[GraphEntry]:
        return self._told("graphs", lambda: self.graph_entries)

    def graph(self, name: str) -> dict[str, Any]:
        return self._told("graph", lambda: {"name": name, "nodes": [], "edges": []})

    def check(self, graph: str, sources: Any = None, scoring: Any = None) -> CheckReport:
        return self._told("check", lambda: CheckReport(graph=graph, path=graph, problems=[]))

    def validate(self, graph: dict[str, Any], sources: Any = None) -> CheckReport:
        return self._told("validate", lambda: CheckReport(graph="", path="", problems=[]))

    def introspect(self, graph: str, sources: Any = None) -> IntrospectReport:
        usual = IntrospectReport(graph_name=graph, env_nodeset=None, loaded=True)
        return self._told("introspect", lambda: usual)

    def estimate(
        self, graph: Any, worker_count: int, sources: Any = None, selectors: Any = None
    ) -> EstimateReport:
        usual = EstimateReport(
            graph_name=str(graph), worker_count=worker_count, resources={}, max_workers=8, fits=True
        )
        return self._told("estimate", lambda: usual)

    def compare(self, runs: Sequence[str]) -> CompareReport:
        return self._told("compare", lambda: CompareReport(runs=[], comparisons=[]))

    def log(self, run: str, episode: str, *, follow: bool = False) -> Iterator[dict[str, Any]]:
        return self._told("log", lambda: iter(()))

    def start(self, request: StartRequest) -> str:
        return self._take("start", request, usual="20260518_143100")

    def cancel(self, run: str, grace_sec: float | None = None) -> CancelReport:
        return self._take("cancel", run, grace_sec, usual=CancelReport(run_id=run, status="cancelling"))

    def resume(self, run: str, *, errors: bool = False) -> None:
        self._take("resume", run, errors)

    def rescore(
        self, run: str, scoring: Mapping[str, Any] | None = None, caller_secrets: Collection[str] = ()
    ) -> None:
        self._take("rescore", run, scoring)

    def delete(self, run: str) -> None:
        self._take("delete", run)

    def pause(self) -> None:
        self._take("pause")

    def unpause(self) -> None:
        self._take("unpause")

    def hold(self, run: str) -> None:
        self._take("hold", run)

    def release(self, run: str) -> None:
        self._take("release", run)

    def move(self, run: str, position: int) -> int:
        return self._take("move", run, position, usual=position)

    def prioritize(self, run: str, priority: str) -> int:
        return self._take("prioritize", run, priority, usual=1)

    def load_server(self, nodeset: str) -> ServerReport:
        usual = ServerReport(name=nodeset, parallelism="shared", state="loading")
        return self._take("load_server", nodeset, usual=usual)

    def unload_server(self, nodeset: str) -> ServerReport:
        usual = ServerReport(name=nodeset, parallelism="shared", state="unloading")
        return self._take("unload_server", nodeset, usual=usual)

    def play(self, request: StartRequest) -> str:
        return self._take("play", request, usual="20260518_143100")

    def play_state(self, run: str) -> PlayReport:
        return self._told("play_state", lambda: PlayReport(run_id=run, status="running", waiting=True))

    def play_step(self, run: str, steps: int = 1) -> PlayReport:
        return self._take("play_step", run, steps, usual=PlayReport(run_id=run, status="running", step=steps))

    def play_run(self, run: str) -> PlayReport:
        return self._take("play_run", run, usual=PlayReport(run_id=run, status="running"))

    def play_stop(self, run: str) -> PlayReport:
        return self._take("play_stop", run, usual=PlayReport(run_id=run, status="cancelled"))

    def stop_backend(self, *, cancel: bool = False) -> None:
        self._take("stop_backend", cancel)

    def _find(self, run: str) -> RunReport:
        found = next((report for report in self.reports if report.run_id == run), None)
        if found is None:
            raise NotFoundError(f"no run is called {run!r}")
        return found


HOST = HostReport(
    name="gpu-07",
    cpu_count=64,
    cpu_percent=31.0,
    ram_total_mb=512 * 1024.0,
    ram_available_mb=401 * 1024.0,
    ram_age_sec=0.4,
    disk_free_mb=800 * 1024.0,
)


def fake_report(
    run_id: str,
    status: RunStatus = "completed",
    *,
    rows: Sequence[EpisodeRow] = (),
    total: int | None = None,
    label: str = "",
    graph: str = "toy_follow",
    workers: Sequence[WorkerProgress] = (),
    **summary: Any,
) -> RunReport:
    """A run as ``show`` tells it. Its summary's numbers follow from ``rows``."""
    stats = {
        name: MetricStats(mean=found.mean, n=found.n, stderr=found.stderr, ci95=found.ci95)
        for name, found in aggregate(rows).stats.items()
    }
    fields: dict[str, Any] = {
        "config": SummaryConfig(graph_name=graph, env_nodeset="env_toy", worker_count=max(1, len(workers))),
        "created_at": moment(1300),
        "started_at": moment(1200) if status != "pending" else None,
        "finished_at": moment(100) if status not in ("pending", "running") else None,
        "elapsed_sec": 1100.0 if status != "pending" else 0.0,
        "total_episodes": total if total is not None else len(rows),
        "completed_count": len(rows),
        "error_count": sum(row.status == "error" for row in rows),
        "metric_stats": stats,
    }
    head = SummaryHead(run_id=run_id, status=status, **(fields | summary))
    progress = Progress(run_id=run_id, updated_at=moment(0), workers=list(workers)) if workers else None
    path = f"/nowhere/outputs/eval_runs/{run_id}"
    return RunReport(run_id=run_id, path=path, status=status, label=label, summary=head, progress=progress)


def results_from(rows: Sequence[EpisodeRow], metric: str | None = None) -> Results:
    stats = aggregate(rows).stats
    name = metric or "success"
    return Results(headline=headline(rows, name, len(rows)), metrics=stats)


def mixed_rows(count: int = 40, workers: int = 4) -> list[EpisodeRow]:
    """Successes and failures; every tenth crashed, every fifteenth ran out of time. Times follow one another
    on each of the workers."""
    rows = []
    for index in range(count):
        worker, turn = index % workers, index // workers
        began = 1190.0 - 40.0 * turn - 3.0 * worker
        more: dict[str, Any] = {
            "worker_id": worker,
            "episode_id": f"e{index}",
            "scene_id": f"kitchen{index % 3}",
            "started_at": moment(began),
            "finished_at": moment(began - 35.0),
            "elapsed_sec": 35.0 + index % 7,
            "metrics": {"success": float(index % 3 != 0), "spl": (index % 10) / 10.0},
        }
        if index % 15 == 7:
            more |= {
                "status": "error",
                "termination": "timeout",
                "error": "step 12 took longer than 5 s",
                "error_class": "infra",
                "metrics": {},
            }
        elif index % 10 == 4:
            more |= {
                "status": "error",
                "termination": "node_error",
                "error": "policy: ValueError: no path to [/goal]",
                "error_class": "graph",
                "metrics": {},
            }
        rows.append(fake_row(index, **more))
    return rows


def busy_workers(count: int = 4) -> list[WorkerProgress]:
    """All at work; the last one has been at its node for seven minutes."""
    return [
        WorkerProgress(
            worker_id=worker,
            state="running",
            episode_index=40 + worker,
            step=10 * worker + 3,
            budget=60,
            node="policy" if worker % 2 else "env_step",
            since=moment(411.0 if worker == count - 1 else 0.4),
            episodes_done=10,
            episodes_total=25,
            steps_done=420 + worker,
        )
        for worker in range(count)
    ]


def busy_control(root: Path = Path("/nowhere")) -> FakeControl:
    """One run at work, one that waits with a reason, one held, and finished ones of every kind; two cards."""
    rows = mixed_rows()
    control = FakeControl(
        root,
        [
            fake_report("20260518_142900", "pending", label="navC", total=200),
            fake_report("20260518_142830", "pending", label="navB", total=1000),
            fake_report(
                "20260518_141000", "running", rows=rows, total=100, label="navA", workers=busy_workers()
            ),
            fake_report("20260518_120000", rows=mixed_rows(24), label="baseline"),
            fake_report("20260518_113000", "cancelled", rows=mixed_rows(5), total=24),
            fake_report("20260518_110000", "error", total=24, error="env_toy did not start: exit code 1"),
        ],
    )
    control.rows = {"20260518_141000": rows, "20260518_120000": mixed_rows(24)}
    control.queue_report = QueueReport(
        running=[
            admitted(
                "20260518_141000",
                label="navA",
                worker_count=4,
                gpus=["GPU-0000"],
                pid=700,
                started_at=moment(1200),
                admit_charges={"vram": 9728.0, "ram": 4096.0},
            )
        ],
        queued=[
            queued(
                "20260518_142830",
                1,
                label="navB",
                worker_count=8,
                estimate_mb={"vram": 40960.0},
                code="gpu_memory",
                reason="needs 40.0 GB; GPU 1 has 37.1 free, 2.0 of it reserved by navA",
            ),
            queued(
                "20260518_142900",
                2,
                label="navC",
                held=True,
                priority="low",
                reason="an operator holds it",
            ),
        ],
    )
    control.resources_report = ResourcesReport(driver="present", gpus=fake_gpus(), host=HOST)
    return control


def fake_gpus() -> list[GpuReport]:
    """Two cards: one that a run, a server and a foreign process share, and an idle one."""
    name, total = "NVIDIA H200", 143771.0
    return [
        GpuReport(
            uuid="GPU-0000",
            label="0",
            name=name,
            total_mb=total,
            used_mb=62464.0,
            age_sec=0.3,
            utilization=87.0,
            power_w=512.0,
            temperature_c=64.0,
            runs_mb={"20260518_141000": 9728.0},
            servers_mb={"toy_policy": 4096.0},
            foreign_mb=48640.0,
            reserved_mb={"20260518_141000": 2048.0},
        ),
        GpuReport(
            uuid="GPU-0001",
            label="1",
            name=name,
            total_mb=total,
            used_mb=3072.0,
            age_sec=0.3,
            utilization=2.0,
            power_w=71.0,
            temperature_c=38.0,
        ),
    ]
