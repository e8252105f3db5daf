"""What finished episodes still wait for, and what became of their scores, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engine.control.reports import RunReport
from engine.store.episode_folders import folder_names
from engine.store.records import EpisodeRow, EpisodeWaits, Progress
from engine.store.scores import Measured
from tui.models import age_sec, duration

COLLECT = "collect"


def waiting_in(report: RunReport) -> Sequence[EpisodeWaits]:
    """Of a run that goes on, what its finished episodes wait for; of one that is over, nothing does."""
    return report.progress.scoring if report.progress is not None and not report.is_over else ()


def wait_of(row: EpisodeRow, progress: Progress | None) -> EpisodeWaits | None:
    """What a finished episode waits for; None where no process has it in hand."""
    if row.scoring != "pending" or progress is None:
        return None
    found = [waits for waits in progress.scoring if waits.episode_index == row.episode_index]
    if len(found) > 1:  # tasks or repeats share the index
        [name] = folder_names([(row.episode_index, row.task, row.repeat)])
        return next((waits for waits in found if waits.folder == name), found[0])
    return found[0] if found else None


def waits_text(waits: EpisodeWaits, now: datetime) -> str:
    """``judge:helpful since 4s``."""
    age = age_sec(waits.since, now)
    return waits.waits_for + (f" since {duration(age)}" if age is not None else "")


def scoring_line(rows: Sequence[EpisodeRow], waiting: Sequence[EpisodeWaits], now: datetime) -> str:
    """``scoring: 3 scored, 2 wait for judge:helpful since 4s, 1 for export:lake since 1s``; empty where
    nothing waits. Since when: the longest."""
    kinds: dict[str, list[EpisodeWaits]] = {}
    for waits in waiting:
        kinds.setdefault(waits.waits_for, []).append(waits)
    parts: list[str] = []
    for several in sorted(kinds.values(), key=len, reverse=True):
        longest = max(several, key=lambda waits: age_sec(waits.since, now) or 0.0)
        verb = "" if parts else "waits " if len(several) == 1 else "wait "
        parts.append(f"{len(several)} {verb}for {waits_text(longest, now)}")
    final = sum(row.scoring == "final" for row in rows)
    return ", ".join([f"scoring: {final} scored", *parts]) if parts else ""


def verdict_text(row: EpisodeRow) -> str:
    """``pass``, ``fail``, that it is to come, or nothing where nothing decides."""
    if row.scoring == "pending":
        return "pending"
    return {True: "pass", False: "fail", None: ""}[row.verdict]


def not_collected(row: EpisodeRow) -> str:
    """Why its trace could not be had; empty where it could, or was not asked for."""
    failure = row.failure or {}
    return str(failure.get("message") or "it cannot be had") if failure.get("stage") == COLLECT else ""


def lacks_something(row: EpisodeRow) -> bool:
    """Whether a score, a trace or an export is missing that it was to have."""
    return (
        any(not isinstance(score, Measured) for score in row.scores)
        or any(outcome.error is not None for outcome in row.exports)
        or bool(not_collected(row))
    )


def why_failed(row: EpisodeRow) -> Measured | None:
    """The first score that says no, where the verdict does."""
    if row.verdict is not False:
        return None
    return next(
        (score for score in row.scores if isinstance(score, Measured) and score.passed is False), None
    )
