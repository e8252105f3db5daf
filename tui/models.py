"""What there is to see at one moment, and what follows from it. Immutable and pure: no widget, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import structs

from engine.control.queue_reports import (
    BackendReport,
    QueuedRun,
    QueueReport,
    ResourcesReport,
    ServerReport,
)
from engine.control.reports import RunReport
from engine.control.results import Results
from engine.figures import interval, measure
from engine.store.records import EpisodeRow, Progress, WorkerProgress
from tui.short_figures import short_estimate, short_named
from tui.theme import Outcome

if TYPE_CHECKING:
    from engine.control.scoring_report import ScoringReport

HISTORY_SEC = 600.0
STALLED_SEC = 120.0
"""A worker that has been at one node for so long is shown as stalled."""


@dataclass(frozen=True)
class GpuSample:
    """A card at one moment (monotonic seconds). None where the driver does not say."""

    at: float
    used_mb: float
    utilization: float | None
    power_w: float | None
    temperature_c: float | None


@dataclass(frozen=True)
class GpuHistory:
    """The last HISTORY_SEC of each card, by UUID, the oldest first."""

    cards: Mapping[str, tuple[GpuSample, ...]] = field(default_factory=dict)

    def with_report(self, report: ResourcesReport, at: float) -> GpuHistory:
        cards = {}
        for gpu in report.gpus:
            sample = GpuSample(at, gpu.used_mb, gpu.utilization, gpu.power_w, gpu.temperature_c)
            kept = [old for old in self.cards.get(gpu.uuid, ()) if old.at > at - HISTORY_SEC]
            cards[gpu.uuid] = (*kept, sample)
        return GpuHistory(cards)


@dataclass(frozen=True)
class RunDetail:
    """The selected run. rows: finished episodes in identity order. results: None until they are computed.
    scoring: what came of its scoring; None until it is computed, and of a run that is not scored.

    loaded: rows are those of ``report``; before that they are empty, or a little older.
    """

    report: RunReport
    rows: tuple[EpisodeRow, ...] = ()
    results: Results | None = None
    scoring: ScoringReport | None = None
    loaded: bool = False

    @property
    def run_id(self) -> str:
        return self.report.run_id


@dataclass(frozen=True)
class Snapshot:
    """What there is to see at one moment. seq grows with each. at: monotonic seconds; now: the wall's time.

    runs: newest first, without progress but for those that run; listed: whether these are all.
    left_sec: run → seconds to go. problem: "" or why the data is old, and since when.
    """

    seq: int = 0
    at: float = 0.0
    now: datetime = datetime.min
    runs: tuple[RunReport, ...] = ()
    listed: bool = False
    queue: QueueReport = field(default_factory=QueueReport)
    resources: ResourcesReport | None = None
    history: GpuHistory = GpuHistory()
    run: RunDetail | None = None
    servers: tuple[ServerReport, ...] = ()
    backend: BackendReport | None = None
    left_sec: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""

    def same_as(self, other: Snapshot) -> bool:
        """Whether nothing has changed but the time."""
        return replace(self, seq=0, at=0.0, now=other.now) == replace(other, seq=0, at=0.0)

    def find(self, run_id: str) -> RunReport | None:
        return next((report for report in self.runs if report.run_id == run_id), None)

    def queued(self, run_id: str) -> QueuedRun | None:
        return next((waiting for waiting in self.queue.queued if waiting.run_id == run_id), None)

    def is_stopping(self, run_id: str) -> bool:
        """Whether it was told to end and has not yet."""
        return any(run.run_id == run_id and run.cancel_requested for run in self.queue.running)


def without_ended(snapshot: Snapshot) -> Snapshot:
    """Where nobody answers for the queue, it is as old as the last answer; the runs' files go on telling."""
    over = {report.run_id for report in snapshot.runs if report.is_over}
    queue = snapshot.queue
    left = structs.replace(
        queue,
        running=[run for run in queue.running if run.run_id not in over],
        queued=[run for run in queue.queued if run.run_id not in over],
    )
    return replace(snapshot, queue=left)


def run_outcome(report: RunReport, snapshot: Snapshot) -> Outcome:
    """How a run is drawn."""
    if report.status == "pending":
        waiting = snapshot.queued(report.run_id)
        return "paused" if waiting is not None and waiting.held else "waiting"
    if report.status == "running":
        return "stalled" if stalled_workers(report.progress, snapshot.now) else "running"
    drawn: dict[str, Outcome] = {"completed": "success", "cancelled": "cancelled"}
    return drawn.get(report.status, "crash")


def stalled_workers(progress: Progress | None, now: datetime) -> list[tuple[WorkerProgress, float]]:
    """Workers that have been at the same node for STALLED_SEC, with the seconds."""
    found = []
    for worker in progress.workers if progress else ():
        idle = age_sec(worker.since, now) if worker.state in ("starting", "resetting", "running") else None
        if idle is not None and idle >= STALLED_SEC:
            found.append((worker, idle))
    return found


def age_sec(moment: str | None, now: datetime) -> float | None:
    """Seconds since an ISO time, at least 0; None where it is none."""
    try:
        then = datetime.fromisoformat(moment or "")
    except ValueError:
        return None
    if (then.tzinfo is None) != (now.tzinfo is None):
        return None
    return max(0.0, (now - then).total_seconds())


def headline_of(report: RunReport) -> str:
    """The metric that stands for the run, ``success 0.612 [0.578, 0.645]``; why it has none; or nothing."""
    found = report.standing
    if found is None:
        return ""
    name, stats = found.metric, found.stats
    if found.withheld:
        why = "errored" if found.lost == found.errors else "without it"
        return f"{name} withheld: {found.lost}/{stats.n + found.lost} {why}"
    return " ".join(filter(None, [name, measure(name, stats.mean), interval(stats)]))


def short_headline(report: RunReport, room: int = 11) -> str:
    """The same in so many cells, without the metric's name where there is an interval: ``0.612±.034``."""
    found = report.standing
    if found is None:
        return ""
    if found.withheld:
        return "withheld"
    if found.stats.mean is not None and found.stats.ci95 is None:
        return short_named(found.stats.mean, found.metric, room)
    return short_estimate(found.stats.mean, found.stats.ci95, room)


def duration(seconds: float | None) -> str:
    """``42s``, ``3:05``, ``2h10m``, ``3d04h``; ``-`` for none."""
    if seconds is None:
        return "-"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, second = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{second:02d}"
    hours, minute = divmod(minutes, 60)
    return f"{hours}h{minute:02d}m" if hours < 24 else f"{hours // 24}d{hours % 24:02d}h"


def gigabytes(mb: float | None) -> str:
    """``9.5G``; ``?`` where it is not known."""
    if mb is None:
        return "?"
    return f"{mb / 1024:.1f}G" if mb < 100 * 1024 else f"{mb / 1024:.0f}G"


def while_away(runs: Sequence[RunReport], left_at: str, now: datetime) -> list[str]:
    """What ended since the screen was left, newest first, in lines; empty where nothing did."""
    away = age_sec(left_at, now)
    if away is None:
        return []
    ended = [run for run in runs if _ended_within(run, away, now)]
    return [
        f"{run.label or run.run_id} {run.status}, {run.summary.completed_count}/{run.summary.total_episodes}"
        + (f", {told}" if (told := headline_of(run)) else "")
        for run in ended
    ]


def _ended_within(run: RunReport, seconds: float, now: datetime) -> bool:
    age = age_sec(run.summary.finished_at, now)
    return run.is_over and age is not None and age < seconds
