"""How long a run still takes, by the pace at which it goes now."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from engine.control.reports import RunReport
from tui.models import age_sec


class _Start(NamedTuple):
    """From when on it is counted, what was done by then, and in which attempt (by when that began)."""

    at: str
    done: int = 0
    attempt: str = ""


class Paces:
    """Of all runs. What a resumed run did before says nothing: only what was seen of this attempt counts."""

    def __init__(self) -> None:
        self._starts: dict[str, _Start] = {}

    def seconds_left(self, report: RunReport, attempt: str | None, now: datetime) -> float | None:
        """None before an episode has ended of those that count, and for a run that is not at work. attempt:
        when this one began, None where that is not known."""
        summary = report.summary
        start = self._start(report, attempt, now) if report.status == "running" else None
        if start is None:
            self._starts.pop(report.run_id, None)
            return None
        elapsed, done = age_sec(start.at, now), summary.completed_count - start.done
        if not elapsed or done <= 0:
            return None
        return elapsed / done * max(0, summary.total_episodes - summary.completed_count)

    def _start(self, report: RunReport, attempt: str | None, now: datetime) -> _Start | None:
        began, since = report.summary.started_at, age_sec(report.summary.started_at, now)
        here = age_sec(attempt, now)
        if began is None or since is None or attempt is None or here is None or here >= since:
            return _Start(began) if began is not None else None
        known = self._starts.get(report.run_id)
        if known is None or known.attempt != attempt:
            workers = report.progress.workers if report.progress else ()
            if not any(worker.state in ("resetting", "running") for worker in workers):
                return None
            known = _Start(now.isoformat(), report.summary.completed_count, attempt)
            self._starts[report.run_id] = known
        return known
