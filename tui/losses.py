"""What ending, resuming and deleting runs means: what is lost, what stays, what can be resumed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.control.reports import RunReport
from engine.figures import count
from engine.store.records import EpisodeRow
from tui.models import Snapshot, age_sec, duration
from tui.models_scoring import waiting_in

IN_FLIGHT = ("resetting", "running")


def cancel_lines(targets: Sequence[RunReport], snapshot: Snapshot) -> list[str]:
    """Each target, with what its end costs."""
    lines = []
    for run in targets:
        lines.append(title_of(run))
        lines += [f"  {line}" for line in _cost(run, snapshot)]
    return lines


def title_of(run: RunReport) -> str:
    name = f"{run.label}, " if run.label else ""
    return f"{run.run_id}  {name}{run.summary.config.graph_name}"


def _cost(run: RunReport, snapshot: Snapshot) -> list[str]:
    if run.is_over:
        return [f"is over already ({run.status}): left as it is"]
    done, total = run.summary.completed_count, run.summary.total_episodes
    if run.status == "pending":
        waiting = snapshot.queued(run.run_id)
        place = f", place {waiting.position} in the queue" if waiting else ""
        kept = f"; what it finished is kept: {count(done, 'episode')}" if done else ""
        return [f"waits{place}: nothing of it runs{kept}; R queues it again"]
    lines = []
    workers = run.progress.workers if run.progress else []
    flying = [worker for worker in workers if worker.state in IN_FLIGHT]
    steps = sum(worker.step for worker in flying)
    if flying:
        lines.append(f"lost: {count(len(flying), 'episode')} in flight, {count(steps, 'step')}")
    else:
        lines.append("lost: what it is doing now, no finished episode")
    lines.append(f"kept: {done} of {count(total, 'episode')}, {_spent(run, snapshot)}")
    unscored = len(waiting_in(run))
    if unscored:
        lines.append(
            f"not scored: {count(unscored, 'episode')}; what was begun for scores ends, nothing new begins,"
            " and R goes on with it"
        )
    if total > done or not unscored:
        lines.append(f"R resumes the other {max(0, total - done)} in the same run")
    return lines


def _spent(run: RunReport, snapshot: Snapshot) -> str:
    """Time, and time of its cards."""
    elapsed = age_sec(run.summary.started_at, snapshot.now) or run.summary.elapsed_sec
    cards = next((len(one.gpus) for one in snapshot.queue.running if one.run_id == run.run_id), 0)
    hours = f", {elapsed * cards / 3600:.1f} GPU hours" if cards else ""
    return f"{duration(elapsed)} of work{hours}"


@dataclass(frozen=True)
class Left:
    """What resuming a run would do: play the episodes without a finished row, and those that the box failed;
    score on where that was cut short."""

    unplayed: int
    infra: int
    unscored: int = 0

    @property
    def is_any(self) -> bool:
        """Whether there is something to do even without those that the box failed."""
        return bool(self.unplayed or self.unscored)


def left_of(report: RunReport, rows: Sequence[EpisodeRow]) -> Left:
    infra = sum(row.status == "error" and row.error_class == "infra" for row in rows)
    over = sum(row.status != "cancelled" for row in rows)
    cut_short = report.status != "completed"  # one that ended by itself is scored again instead
    unscored = sum(row.scoring == "pending" for row in rows) if cut_short else 0
    return Left(max(0, report.summary.total_episodes - over), infra, unscored)


def delete_lines(run: RunReport) -> list[str]:
    done = run.summary.completed_count
    return [
        title_of(run),
        f"  {count(done, 'finished episode')}: numbers, logs and images",
        f"  {run.path} is removed from the disk; nothing brings it back",
    ]
