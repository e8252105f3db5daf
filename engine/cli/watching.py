"""What has changed since the last look: in the queue, and in the runs that were let in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from engine.cli.progress import Pace, describe, standing
from engine.cli.queueing import place_in
from engine.cli.results import STATUS_COLOURS
from engine.figures import count
from engine.store.records import RunStatus, now_iso
from engine.text import one_line

if TYPE_CHECKING:
    from engine.control.protocol import Control
    from engine.control.queue_reports import QueuedRun, QueueReport
    from engine.control.reports import RunReport


class Change(msgspec.Struct, kw_only=True):
    """A line of ``watch``. run_id: None of what concerns the whole queue. text: the line without its time.
    scoring_count: finished episodes that wait to be judged or exported."""

    time: str
    text: str
    run_id: str | None = None
    status: RunStatus | None = None
    position: int | None = None
    code: str = ""
    reason: str = ""
    completed_count: int | None = None
    total_episodes: int | None = None
    error_count: int | None = None
    scoring_count: int | None = None
    paused: bool | None = None

    @property
    def colour(self) -> str | None:
        return STATUS_COLOURS[self.status] if self.status else "yellow"


class Watcher:
    """Compares each look at ``control`` with the one before."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._paused: bool | None = None
        self._told: dict[str, tuple[object, ...]] = {}
        self._paces: dict[str, Pace] = {}

    def look(self) -> Iterator[Change]:
        """What is new. The first look tells of everything that waits or runs. NoBackendError as the verbs."""
        queue = self._control.queue()
        if queue.paused != self._paused and (queue.paused or self._paused is not None):
            text = "the queue is paused" if queue.paused else "the queue goes on"
            yield Change(time=now_iso(), text=text, paused=queue.paused)
        self._paused = queue.paused
        waiting = {run.run_id: run for run in queue.queued}
        running = [run.run_id for run in queue.running]
        for run in dict.fromkeys([*running, *waiting, *self._told]):
            if run in waiting:  # of hundreds that wait no file is read
                yield from self._new(_waits(waiting[run], queue))
            else:
                yield from self._look_at(run, queue, gone=run not in running)

    def _look_at(self, run: str, queue: QueueReport, *, gone: bool) -> Iterator[Change]:
        from engine.control.reports import NotFoundError

        try:
            report = self._control.show(run)
        except NotFoundError:
            self._forget(run)
            yield Change(time=now_iso(), text=f"{run} was deleted", run_id=run)
            return
        pace = self._paces.setdefault(run, Pace())
        pace.update(report)
        yield from self._new(_goes(report, queue, pace))
        if gone and report.is_over:
            self._forget(run)

    def _new(self, change: Change) -> Iterator[Change]:
        state = (
            change.status,
            change.position,
            change.code,
            change.completed_count,
            change.error_count,
            change.scoring_count,
        )
        if change.run_id is not None and self._told.get(change.run_id) != state:
            self._told[change.run_id] = state
            yield change

    def _forget(self, run: str) -> None:
        self._told.pop(run, None)
        self._paces.pop(run, None)


def _waits(run: QueuedRun, queue: QueueReport) -> Change:
    return Change(
        time=now_iso(),
        text=f"{run.run_id} {run.graph_name} {place_in(queue, run.run_id)}",
        run_id=run.run_id,
        status="pending",
        position=run.position,
        code=run.code,
        reason=run.reason,
    )


def _goes(report: RunReport, queue: QueueReport, pace: Pace) -> Change:
    summary = report.summary
    how = place_in(queue, report.run_id) if report.status == "pending" else ""
    if report.is_over:
        how = f"{report.status}, {_outcome(report)}"
    elif not how:
        how = f"{report.status}, {describe(report, pace)}"
    return Change(
        time=now_iso(),
        text=f"{report.run_id} {summary.config.graph_name} {how}",
        run_id=report.run_id,
        status=report.status,
        completed_count=summary.completed_count,
        total_episodes=summary.total_episodes,
        error_count=summary.error_count,
        scoring_count=len(report.progress.scoring) if report.progress and not report.is_over else None,
    )


def _outcome(report: RunReport) -> str:
    summary = report.summary
    parts = [f"{summary.completed_count}/{count(summary.total_episodes, 'episode')}"]
    if summary.error_count:
        parts.append(f"{summary.error_count} with errors")
    return " · ".join([*parts, *filter(None, (standing(report), one_line(summary.error or "")))])
