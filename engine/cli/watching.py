"""What has changed since the last look: in the queue, and in the runs that were let in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from engine.cli.progress import Pace, describe, standing
from engine.cli.queueing import place_in
from engine.cli.results import STATUS_COLOURS
from engine.store.records import RunStatus, now_iso

if TYPE_CHECKING:
    from engine.control.protocol import Control
    from engine.control.queue_reports import QueueReport
    from engine.control.reports import RunReport


class Change(msgspec.Struct, kw_only=True):
    """A line of ``watch``. run_id: None of what concerns the whole queue. text: the line without its time."""

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
        alive = [run.run_id for run in queue.running] + [run.run_id for run in queue.queued]
        for run in dict.fromkeys([*alive, *self._told]):
            yield from self._look_at(run, queue, gone=run not in alive)

    def _look_at(self, run: str, queue: QueueReport, *, gone: bool) -> Iterator[Change]:
        from engine.control.reports import NotFoundError

        try:
            report = self._control.show(run)
        except NotFoundError:
            self._told.pop(run, None)
            yield Change(time=now_iso(), text=f"{run} was deleted", run_id=run)
            return
        change = self._change(report, queue)
        state = (change.status, change.position, change.code, change.completed_count, change.error_count)
        if self._told.get(run) != state:
            self._told[run] = state
            yield change
        if gone and report.is_over:
            self._told.pop(run, None)
            self._paces.pop(run, None)

    def _change(self, report: RunReport, queue: QueueReport) -> Change:
        run, summary = report.run_id, report.summary
        pace = self._paces.setdefault(run, Pace())
        pace.update(report)
        waiting = next((found for found in queue.queued if found.run_id == run), None)
        how = place_in(queue, run) if report.status == "pending" else ""
        if report.is_over:
            how = f"{report.status}, {_outcome(report)}"
        elif not how:
            how = f"{report.status}, {describe(report, pace)}"
        return Change(
            time=now_iso(),
            text=f"{run} {summary.config.graph_name} {how}",
            run_id=run,
            status=report.status,
            position=waiting.position if waiting else None,
            code=waiting.code if waiting else "",
            reason=waiting.reason if waiting else "",
            completed_count=summary.completed_count,
            total_episodes=summary.total_episodes,
            error_count=summary.error_count,
        )


def _outcome(report: RunReport) -> str:
    summary = report.summary
    parts = [f"{summary.completed_count}/{summary.total_episodes} episodes"]
    if summary.error_count:
        parts.append(f"{summary.error_count} with errors")
    return " · ".join([*parts, *filter(None, (standing(report), summary.error))])
