"""A run's result as a table, and where to look next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from engine.cli.output import put, put_table, say
from engine.cli.progress import clock, interval, number

if TYPE_CHECKING:
    from engine.control.reports import RunReport
    from engine.store.records import EpisodeRow

STATUS_COLOURS = {
    "completed": "green",
    "running": "cyan",
    "pending": "cyan",
    "error": "red",
    "aborted": "red",
    "cancelled": "yellow",
}


def put_result(report: RunReport, rows: Sequence[EpisodeRow]) -> None:
    """Each metric with mean, 95 % interval and n; how the episodes ended; what went wrong; the folder."""
    summary = report.summary
    if summary.metric_stats:
        put_table(
            ["metric", "mean", "95 % interval", "n"],
            [
                [name, number(stats.mean), interval(stats) or "-", str(stats.n)]
                for name, stats in summary.metric_stats.items()
            ],
        )
        put()
    put_table(
        ["run", report.run_id],
        [
            ["status", report.status],
            ["graph", summary.config.graph_name],
            ["episodes", _counts(report, rows)],
            ["ended by", _tally(row.termination for row in rows) or "-"],
            ["time", clock(summary.elapsed_sec)],
            *_optional(report),
            ["folder", report.path],
        ],
    )
    if summary.error:
        say(f"error: {summary.error}", "red")
    for line in report.stderr_tail:
        say(f"stderr: {line}")


def _optional(report: RunReport) -> list[list[str]]:
    found = []
    if report.environment:
        found.append(["determinism", report.environment.determinism])
    if report.summary.result_digest:
        found.append(["result digest", report.summary.result_digest])
    if report.label:
        found.append(["label", report.label])
    return found


def _counts(report: RunReport, rows: Sequence[EpisodeRow]) -> str:
    """``24: 20 completed, 3 error (2 infra), 1 cancelled``."""
    total = report.summary.total_episodes or len(rows)
    by_status = _tally(row.status for row in rows)
    classes = _tally(row.error_class for row in rows if row.error_class)
    return f"{total}: {by_status or 'none finished'}" + (f" (errors: {classes})" if classes else "")


def _tally(words: Iterable[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in Counter(words).most_common())


def say_where_next(report: RunReport, rows: Sequence[EpisodeRow]) -> None:
    """Commands worth a try after this run."""
    run = report.run_id
    interesting = next(
        (row for row in rows if row.status == "error" or row.metrics.get("success") == 0), None
    )
    hints = [(f"evaltower episodes {run}", "every episode (--failed: those that went wrong)")]
    if interesting is not None:
        hints.append((f"evaltower log {run} {interesting.episode_index}", "one that failed, step by step"))
    hints.append((f"evaltower show {run}", "this result again"))
    say("")
    say("Where to look next:")
    for line, what in hints:
        say(f"  {line:<44}  {what}")
