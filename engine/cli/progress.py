"""What a running run has done, how fast, and how well so far, in words."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from engine.cli.scores import waits_in_words
from engine.figures import count, interval, measure

if TYPE_CHECKING:
    from engine.control.reports import RunReport

SHORTEST_WATCH_SEC = 1.0


class Pace:
    """Episodes and steps a second while it was watched, and seconds to go; None until one can say."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._before = (0, 0)
        self._elapsed = 0.0
        self._done = (0, 0)
        self._left = 0

    def update(self, report: RunReport) -> None:
        """Take down how far the run is now. The count begins with the first episode."""
        workers = report.progress.workers if report.progress else []
        under_way = sum(worker.step for worker in workers if worker.state == "running")
        steps = under_way + sum(worker.steps_done for worker in workers)
        self._done = report.summary.completed_count, steps
        self._left = report.summary.total_episodes - report.summary.completed_count
        if steps < self._before[1]:  # counted anew: it is resumed, or a shard of it is
            self._began = None
        if self._began is None and any(worker.state in ("resetting", "running") for worker in workers):
            self._began, self._before = time.monotonic(), self._done
        self._elapsed = time.monotonic() - self._began if self._began is not None else 0.0

    @property
    def episodes_per_sec(self) -> float | None:
        return self._rate(0)

    @property
    def steps_per_sec(self) -> float | None:
        return self._rate(1)

    @property
    def seconds_left(self) -> float | None:
        """None, too, once every episode has been played: what their scoring takes, nobody knows."""
        rate = self.episodes_per_sec
        return self._left / rate if rate and self._left else None

    def _rate(self, which: int) -> float | None:
        done = self._done[which] - self._before[which]
        return done / self._elapsed if done and self._elapsed >= SHORTEST_WATCH_SEC else None


def standing(report: RunReport) -> str:
    """The metric that stands for the run with its interval; that it is withheld, with too many errors; or
    nothing."""
    found = report.standing
    if found is None:
        return ""
    name, stats = found.metric, found.stats
    if found.withheld:
        why = "with errors" if found.lost == found.errors else "without it"
        return f"{name} withheld: {found.lost} of {stats.n + found.lost} {why}"
    return f"{name} {measure(name, stats.mean)}{interval(stats, ' ')}"


def describe(report: RunReport, pace: Pace) -> str:
    """The run in one line: done, then how it fares."""
    summary = report.summary
    total = summary.total_episodes
    done = [f"{summary.completed_count}/{count(total, 'episode')}"] if total else []
    return " · ".join([*done, fare(report, pace)])


def fare(report: RunReport, pace: Pace) -> str:
    """Why it has not begun; else what goes on beside the episodes, what finished ones wait for, errors,
    running success with its interval, time to go, rates."""
    if report.waits:
        return f"waits: {report.waits}"
    summary = report.summary
    parts = [report.progress.activity] if report.progress and report.progress.activity else []
    if not summary.completed_count and (first := _first_steps(report)):
        parts.append(first)
    if report.progress and report.progress.scoring:
        waiting = report.progress.scoring
        verb = "waits" if len(waiting) == 1 else "wait"
        parts.append(f"{len(waiting)} {verb} for {waits_in_words(waiting)}")
    if summary.scored is not None and summary.scored.not_judged:
        parts.append(f"{summary.scored.not_judged} could not be judged")
    if summary.error_count:
        parts.append(f"{summary.error_count} with errors")
    if told := standing(report):
        parts.append(told)
    if (left := pace.seconds_left) is not None:
        parts.append(f"{clock(left)} to go")
    if (rate := pace.episodes_per_sec) is not None:
        parts.append(f"{rate:.2f} episodes/s" if rate >= 0.1 else f"{rate * 60:.1f} episodes/min")
    if (steps := pace.steps_per_sec) is not None:
        parts.append(f"{steps:.0f} steps/s")
    return " · ".join(parts or ["starting"])


def _first_steps(report: RunReport) -> str:
    """How far the first episodes are, by the one that is furthest; empty before their first step."""
    workers = report.progress.workers if report.progress else []
    playing = [worker for worker in workers if worker.state == "running" and worker.step]
    if not playing:
        return ""
    furthest = max(playing, key=lambda worker: worker.step)
    return f"at step {furthest.step}" + (f" of {furthest.budget}" if furthest.budget else "")


def clock(seconds: float) -> str:
    """A duration as people read it: ``42 s``, ``3:05``, ``2:10:00``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
