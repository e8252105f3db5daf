"""A run's result: its headline, tables, and where to look next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from engine.cli.output import put, put_table, put_wrapped, say, say_lines
from engine.cli.progress import clock
from engine.figures import count, instead_in_words, interval, labelled, measure, number
from engine.report.words import lacking, without_it

if TYPE_CHECKING:
    from engine.control.reports import RunReport
    from engine.control.results import Results
    from engine.statistics.budget import Headline
    from engine.statistics.error_groups import ErrorGroup
    from engine.statistics.intervals import Estimate
    from engine.statistics.repeats import Repeats
    from engine.statistics.tables import TaskTable
    from engine.store.records import EpisodeRow

MOST_ERRORS = 3
STATUS_COLOURS = {
    "completed": "green",
    "running": "cyan",
    "pending": "cyan",
    "error": "red",
    "aborted": "red",
    "cancelled": "yellow",
}


def put_result(report: RunReport, results: Results, rows: Sequence[EpisodeRow]) -> None:
    """The headline, or why there is none; each metric with mean, 95 % interval and n; by task; pass rates of
    repeats; how the episodes ended; the folder; what went wrong.

    Where the headline is withheld, so are the means behind it.
    """
    summary = report.summary
    if report.is_over or results.metrics:
        _put_headline(results.headline)
        if results.instead:
            put_wrapped(instead_in_words(results.instead, report.run_id))
        put()
    if results.metrics and results.headline.withheld is None:
        put_table(
            ["metric", "mean", "95 % interval", "n"],
            [[labelled(name), *_cells(found)] for name, found in results.metrics.items()],
        )
        put()
        if results.tasks:
            _put_tasks(results.tasks)
        if results.repeats:
            _put_repeats(results.repeats)
    put_table(
        ["run", report.run_id],
        [
            ["status", report.status],
            ["graph", summary.config.graph_name],
            ["episodes", _counts(report, rows)],
            ["ended by", _tally(row.termination for row in rows) or "-"],
            ["time", clock(summary.elapsed_sec)],
            *([["cluster", report.cluster.told]] if report.cluster else []),
            *_optional(report),
            ["folder", report.path],
        ],
    )
    if len(results.errors) > 1 or results.headline.missing.measured:  # else the headline has told it
        _put_errors(results.errors, report.run_id)
    if summary.error:
        say_lines("error: ", summary.error, "red")
    for line in report.stderr_tail:
        say(f"stderr: {line}")


def _put_headline(found: Headline) -> None:
    missing = found.missing
    if found.estimate is None:
        put_wrapped(f"{found.metric} is withheld: {found.withheld}", "red")
        if missing.measured:
            put_wrapped("The means over what completed are in summary.json.")
        return
    shown = found.estimate
    where = f", in {shown.groups} {shown.by}s" if shown.by else ""
    if shown.by == "episode":
        where = f", the repeats of {shown.groups}"
    known = f"95 % interval {interval(shown)}" if shown.ci95 else interval(shown) or "no interval"
    put_wrapped(
        f"{found.metric} {measure(found.metric, shown.mean)}, {known}, from {missing.measured} of"
        f" {count(missing.planned, 'episode')}{where}",
        "green",
    )
    if missing.planned > missing.measured:
        put_wrapped(without_it(missing), "yellow")


def _put_errors(groups: Sequence[ErrorGroup], run: str) -> None:
    """The commonest, each as its first episode has it."""
    if not groups:
        return
    put()
    put("errors")
    width = len(str(groups[0].episodes))
    for group in groups[:MOST_ERRORS]:
        put_wrapped(f"{group.episodes:>{width}} × {group.told}", "red", " " * (width + 3))
    if (more := len(groups) - MOST_ERRORS) > 0:
        put_wrapped(f"{count(more, 'further error')}: evaltower episodes {run} --failed")


def _put_tasks(table: TaskTable) -> None:
    """One metric by task or scene, then its mean over episodes and over tasks."""
    names = table.names()
    means = [("every episode alike", table.pooled), (f"every {table.by} alike", table.macro)]
    put_table(
        [f"{labelled(table.metric)} by {table.by}", "mean", "95 % interval", "n", "without it"],
        [
            *([names[line.task], *_cells(line.estimate), lacking(line.missing)] for line in table.tasks),
            *([name, *_cells(found), ""] for name, found in means),
        ],
    )
    put()


def _put_repeats(found: Repeats) -> None:
    """How often at least one of k tries passes, and how often all do."""
    put_table(
        ["k", f"pass@k ({found.metric})", "95 % interval", "pass^k", "95 % interval"],
        [
            [str(rate.k), *_cells(rate.at_least_one)[:2], *_cells(rate.all_of_them)[:2]]
            for rate in found.rates
        ],
    )
    tries = f"{found.fewest}" if found.fewest == found.most else f"{found.fewest} to {found.most}"
    put_wrapped(
        "pass@k: at least one of k tries passes; pass^k: all of them do."
        f" {count(found.episodes, 'episode')} with {tries} tries each; {found.flaky} passed only sometimes."
    )
    put()


def _cells(found: Estimate | None) -> list[str]:
    """Mean, interval and n of a table's row."""
    return [number(found.mean), interval(found) or "-", str(found.n)] if found else ["-", "-", "0"]


def _optional(report: RunReport) -> list[list[str]]:
    found = [["until width", told]] if (told := _until_width(report)) else []
    if nonfinite := report.summary.nonfinite:
        told = ", ".join(f"{name} in {count}" for name, count in nonfinite.items())
        found.append(["not finite", f"{told} of {count(report.summary.completed_count, 'episode')}"])
    if report.environment:
        found.append(["determinism", report.environment.determinism])
    if report.summary.result_digest:
        found.append(["result digest", report.summary.result_digest])
    if report.label:
        found.append(["label", report.label])
    return found


def _until_width(report: RunReport) -> str:
    """Where ``--until-width`` ended the run, or that it did not; nothing of a run without, or under way."""
    summary = report.summary
    width, metric = summary.config.until_width, summary.config.until_metric
    if width is None or not report.is_over:
        return ""
    if stop := summary.early_stop:
        verb = "does" if stop.beyond == 1 else "do"
        more = f"; {stop.beyond} more had begun, and {verb} not count" if stop.beyond else ""
        planned = count(stop.planned, "episode")
        return f"{width:g} of {metric} after {summary.total_episodes} of {planned}{more}"
    stats = summary.metric_stats.get(metric)
    reached = f"{stats.ci95[1] - stats.ci95[0]:.3g}" if stats and stats.ci95 else "none"
    return f"{width:g} of {metric} asked; {reached} at the end of the list"


def _counts(report: RunReport, rows: Sequence[EpisodeRow]) -> str:
    """``24: 20 completed, 3 error (2 infra), 1 cancelled``."""
    total = report.summary.total_episodes or len(rows)
    by_status = _tally(row.status for row in rows)
    classes = _tally(row.error_class for row in rows if row.error_class)
    return f"{total}: {by_status or 'none finished'}" + (f" (errors: {classes})" if classes else "")


def _tally(words: Iterable[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in Counter(words).most_common())


def has_failed(row: EpisodeRow) -> bool:
    """Whether the episode errored or was cancelled, its success is 0, or its verdict is that it failed."""
    return row.status != "completed" or row.metrics.get("success") == 0 or row.verdict is False


def say_where_next(report: RunReport, rows: Sequence[EpisodeRow]) -> None:
    """Commands worth a try after this run."""
    run = report.run_id
    interesting = next((row for row in rows if has_failed(row)), None)
    hints = [(f"evaltower episodes {run}", "every episode (--failed: those that went wrong)")]
    if interesting is not None:
        hints.append((f"evaltower log {run} {interesting.episode_index}", "one that failed, step by step"))
    hints.append((f"evaltower show {run}", "this result again"))
    say("")
    say("Where to look next:")
    for line, what in hints:
        say(f"  {line:<44}  {what}")
