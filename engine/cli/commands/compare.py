"""``evaltower compare``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from engine.cli.app import FAILED, App
from engine.cli.output import Cell, put, put_json, put_table, put_wrapped
from engine.cli.results import STATUS_COLOURS
from engine.figures import count, interval, noun, number
from engine.store.task_names import task_names

if TYPE_CHECKING:
    from engine.control.comparing import CompareReport
    from engine.statistics.comparison import Comparison, MetricComparison
    from engine.statistics.contrast import Contrast, Flip

INDENT = "  "
FLIPS_NAMED = 20
LEAST_P = 0.001
COLOURS = {"same": None, "higher": "cyan", "lower": "cyan", "unsettled": "yellow"}


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(app: App, /, *, runs: tuple[str, ...], as_json: bool) -> None:
    """Compare the metrics of each further RUN with those of the first, episode by episode.

    Differences are the further run's (right) minus the first's (left), with 95 % intervals. Ends with 1 where
    there is nothing to compare.
    """
    if len(runs) < 2:
        raise click.UsageError("name two runs or more")
    report = app.control.compare(runs)
    put_json(report) if as_json else _put_report(report)
    if not report.pairs:
        raise click.exceptions.Exit(FAILED)


def _put_report(report: CompareReport) -> None:
    put_table(
        ["", "run", "graph", "status", "finished", "label"],
        [
            [
                "right" if place else "left",
                run.run_id,
                run.graph_name,
                Cell(run.status, STATUS_COLOURS[run.status]),
                str(run.episodes),
                run.label,
            ]
            for place, run in enumerate(report.runs)
        ],
    )
    for comparison in report.comparisons:
        put()
        if len(report.comparisons) > 1:
            put(f"right: {comparison.right}")
        _put_comparison(comparison)
    notes = [note for comparison in report.comparisons for note in comparison.notes]
    for note in dict.fromkeys([*notes, *report.notes]):
        put_wrapped(f"note: {note}", "yellow", INDENT)
    if report.pairs:
        tests = sum(metric.found is not None for c in report.comparisons for metric in c.metrics)
        exact = sorted(
            {m.metric for c in report.comparisons for m in c.metrics if m.found and m.found.test == "mcnemar"}
        )
        by = f"McNemar's test for {', '.join(exact)}, else a" if exact else "a"
        put_wrapped(
            f"p: two-sided, {by} permutation test; corrected for {count(tests, 'test')} (Holm).", None, INDENT
        )


def _put_comparison(comparison: Comparison) -> None:
    found = [(metric, metric.found) for metric in comparison.metrics if metric.found is not None]
    if not found:
        put_wrapped(_nothing(comparison), "red")
        return
    if all(contrast.verdict == "same" for _, contrast in found):
        put_wrapped(
            f"No difference: {count(comparison.shared, 'episode')}, and every metric is the same in each"
            " pair.",
            "green",
        )
        put()
    put_table(
        ["metric", "left", "right", "diff", "95 % interval", "p", "right is"],
        [_row(metric.metric, contrast) for metric, contrast in found],
    )
    put()
    told: defaultdict[str, list[str]] = defaultdict(list)
    for metric, contrast in found:
        for line in [*_missing(metric), *_details(contrast)]:
            told[line].append(metric.metric)
    for line, names in told.items():
        put_wrapped(f"{', '.join(names)}: {line}", None, INDENT)


def _nothing(comparison: Comparison) -> str:
    if comparison.shared == 0:
        return "Nothing to compare: the runs share no finished episode."
    shared = count(comparison.shared, "shared episode")
    return f"Nothing to compare: of {shared} none has a metric that was measured in both runs."


def _row(name: str, found: Contrast) -> list[str | Cell]:
    return [
        name,
        number(found.left),
        number(found.right),
        signed(found.difference.mean),
        interval(found.difference) or "-",
        number(found.p_adjusted) if found.p_adjusted >= LEAST_P else f"<{LEAST_P}",
        Cell(found.verdict, COLOURS[found.verdict]),
    ]


def _missing(metric: MetricComparison) -> list[str]:
    counts = [
        (metric.missing_left, "left only"),
        (metric.missing_right, "right only"),
        (metric.missing_both, "both"),
    ]
    told = ", ".join(f"{n} ({where})" for n, where in counts if n)
    return [f"{count(metric.pairs, 'pair')}; not measured in {told}"] if told else []


def _details(found: Contrast) -> list[str]:
    """What moved, and what it would take to know more; nothing where nothing moved."""
    if found.verdict == "same":
        return []
    lines = []
    if found.flipped:
        up = [flip for flip in found.flipped if flip.right > flip.left]
        down = [flip for flip in found.flipped if flip.right < flip.left]
        told = [f"{way} in {_named(flips)}" for flips, way in ((up, "0 → 1"), (down, "1 → 0")) if flips]
        pairs = count(found.difference.n, "episode")
        lines.append(f"{len(found.flipped)} of {pairs} flipped: {'; '.join(told)}")
    else:
        higher = count(found.higher, "episode")
        lines.append(f"higher in {higher}, lower in {found.lower}, equal in {found.equal}")
    if found.verdict == "unsettled":
        lines.append(_what_it_takes(found))
    return lines


def _what_it_takes(found: Contrast) -> str:
    if found.difference.mean == 0:
        return "the differences cancel out, so that no number of episodes would settle it"
    if found.more_episodes is None:
        return "so few episodes do not say how many would settle it"
    seen = f"; these would have shown one of {number(found.detectable)}" if found.detectable else ""
    more = f"{found.more_episodes:,} more {noun(found.more_episodes, 'episode')}"
    return f"about {more} would settle a difference of this size{seen}"


def _named(flips: Sequence[Flip]) -> str:
    tasks = task_names(flip.task for flip in flips)
    names = [
        f"{flip.episode_index}" + (f" of {tasks[flip.task]}" if len(tasks) > 1 else "")
        for flip in flips[:FLIPS_NAMED]
    ]
    return ", ".join(names) + (f" and {len(flips) - FLIPS_NAMED} more" if len(flips) > FLIPS_NAMED else "")


def signed(value: float) -> str:
    """A difference, with its sign."""
    return f"+{number(value)}" if value > 0 else number(value + 0.0)  # a negative zero has no sign
