"""A run's numbers: the one that stands for it, each metric, by task, over repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.control.results import Results
from engine.control.scoring_report import ScoringReport
from engine.figures import HasInterval, count, instead_in_words, interval, labelled
from engine.report.markup import Child, Html, cut, el, figure, pointer, section, table
from engine.report.words import lacking, without_it
from engine.statistics.error_groups import grouped_errors
from engine.statistics.intervals import Estimate
from engine.statistics.kinds import is_bounded
from engine.statistics.missingness import Missingness
from engine.statistics.repeats import Repeats
from engine.statistics.tables import TaskTable
from engine.store.outcomes import outcome_of
from engine.store.records import EpisodeRow, MetricStats, SummaryHead
from engine.store.scoring_tally import not_judged_in_words, use_in_words

NUMBERS = (1, 2, 3, 4)
LONGEST = 400
"""Characters of an error in the headline."""
_STATS = "summary.json#/metric_stats"


def headline(results: Results, summary: SummaryHead, rows: Sequence[EpisodeRow]) -> Html:
    """The metric that stands for the run with its interval, or why it is withheld; what it lacks. Where every
    episode went wrong, what went wrong."""
    found, missing = results.headline, results.headline.missing
    told: list[Child]
    if not missing.measured and missing.errored:
        told = _nothing_measured(missing, rows)
    elif found.estimate is None:
        told = [
            el("p", f"{found.metric} is withheld", cls="withheld"),
            el("p", found.withheld or ""),
            el("p", instead_in_words(results.instead, summary.run_id), cls="note")
            if results.instead
            else None,
        ]
    else:
        stats = _stats(results, summary).get(found.metric) or found.estimate
        of = f"{_STATS}{pointer(found.metric)}"
        told = [
            el("p", labelled(found.metric), cls="metric"),
            el("p", figure(stats.mean, f"{of}/mean"), cls="big"),
            el("p", *_interval_in_words(stats, of, found.estimate)),
            _bar(stats, found.metric),
        ]
    measured = el(
        "p",
        figure(missing.measured, "results#/headline/missing/measured"),
        " of ",
        figure(missing.planned, "results#/headline/missing/planned"),
        " episodes measured, ",
        figure(missing.errored, "results#/headline/missing/errored"),
        " errored",
    )
    rest = None
    if missing.planned > missing.measured:
        rest = el("p", without_it(missing), cls="note")
    return Html(el("section", *told, measured, rest, id="headline") + "\n")


def _nothing_measured(missing: Missingness, rows: Sequence[EpisodeRow]) -> list[Child]:
    """Which errors left the run without a number, the commonest in its words."""
    refused = all(outcome_of(row) == "misconfigured" for row in rows) and len(rows) == missing.planned
    all_of = "the only one was" if missing.planned == 1 else f"all {missing.planned} were"
    why = f"{all_of} misconfigured" if refused else lacking(missing)
    told: list[Child] = [el("p", f"No episode was measured: {why}", cls="withheld")]
    if groups := grouped_errors(rows):
        times = f"In {groups[0].count} of {count(missing.planned, 'episode')}: "
        told.append(el("p", times, el("span", cut(groups[0].text, LONGEST), cls="error", dir="auto")))
    return told


def _interval_in_words(stats: MetricStats | Estimate, of: str, found: Estimate) -> list[Child]:
    if stats.ci95 is None:
        return [interval(stats) or "no interval"]
    grouped = f", in {found.groups} {found.by}s" if found.by and found.by != "episode" else ""
    if found.by == "episode":
        grouped = f", the repeats of {found.groups} episodes"
    return ["95 % interval ", _interval(stats, of), grouped]


def _bar(stats: MetricStats | Estimate, metric: str) -> Html | None:
    """Mean and interval between 0 and 1; None of a metric that can be anything."""
    if stats.ci95 is None or stats.mean is None or not is_bounded(metric):
        return None
    low, high = (100 * min(1.0, max(0.0, end)) for end in stats.ci95)
    span = el("span", cls="span", style=f"left:{low:.2f}%;width:{high - low:.2f}%")
    mark = el("span", cls="mean", style=f"left:{100 * stats.mean:.2f}%")
    return el("div", span, mark, cls="bar", role="img", aria_label=f"between 0 and 1: {interval(stats)}")


def metrics(results: Results, summary: SummaryHead) -> Html | None:
    """Every metric over what completed. None where nothing is measured, or the headline is withheld."""
    found = _stats(results, summary)
    if not found or results.headline.withheld is not None:
        return None
    rows = [[labelled(name), *_cells(stats, f"{_STATS}{pointer(name)}")] for name, stats in found.items()]
    return section(
        "Metrics",
        table(["metric", "mean", "95 % interval", "n"], rows, NUMBERS),
        _nonfinite(summary),
        name="metrics",
    )


def _nonfinite(summary: SummaryHead) -> Html | None:
    if not summary.nonfinite:
        return None
    told = ", ".join(f"{name} in {count(times, 'episode')}" for name, times in summary.nonfinite.items())
    return el("p", f"Not finite, and in no mean: {told}.", cls="note")


def tasks(found: TaskTable, summary: SummaryHead) -> Html:
    """The headline's metric by task, or by scene."""
    rows: list[Sequence[Child]] = []
    names = found.names()
    means = summary.aggregate_by_task if found.by == "task" else {}
    for at, line in enumerate(found.tasks):
        cells = _cells(line.estimate, f"results#/tasks/tasks/{at}/estimate")
        mean = means.get(line.task, {}).get(found.metric)
        if mean is not None:
            cells[0] = figure(mean, f"summary.json#/aggregate_by_task{pointer(line.task, found.metric)}")
        rows.append([el("bdi", names[line.task]), *cells, lacking(line.missing)])
    for told, name, estimate in (
        ("every episode alike", "pooled", found.pooled),
        (f"every {found.by} alike", "macro", found.macro),
    ):
        rows.append([el("em", told), *_cells(estimate, f"results#/tasks/{name}"), None])
    header = [found.by, labelled(found.metric), "95 % interval", "n", "without it"]
    return section(f"By {found.by}", table(header, rows, (1, 2, 3)), name="tasks")


def repeats(found: Repeats) -> Html:
    """How often at least one of k tries passes, and how often all do."""
    rows = []
    for at, rate in enumerate(found.rates):
        one, all_of = f"results#/repeats/rates/{at}/at_least_one", f"results#/repeats/rates/{at}/all_of_them"
        rows.append([str(rate.k), *_cells(rate.at_least_one, one)[:2], *_cells(rate.all_of_them, all_of)[:2]])
    header = ["k", f"pass@k ({found.metric})", "95 % interval", "pass^k", "95 % interval"]
    note = f"{count(found.episodes, 'episode')}, {found.flaky} of which passed only sometimes."
    return section("Repeats", table(header, rows, (0, *NUMBERS)), el("p", note, cls="note"), name="repeats")


def scoring(found: ScoringReport) -> Html:
    """Verdicts, what is not measured, and where episodes were exported."""
    told = [
        f"Verdicts: {found.verdicts}.",
        f"{found.fallbacks_told}." if found.fallbacks else "",
        f"Not judged: {not_judged_in_words(found.tally)}." if found.tally.not_judged else "",
        f"{count(found.degraded, 'episode')} graded without a trace." if found.degraded else "",
        *(
            f"{metric}: not measured in {count(times, 'episode')}."
            for metric, times in found.unmeasured.items()
        ),
        f"Judges took {use_in_words(found.tally.judges_used)}." if found.tally.judges_used.asked else "",
    ]
    sinks = [
        [
            sink.name,
            sink.sink,
            sink.status,
            str(sink.total),
            str(sum(case.error is not None for case in sink.cases)),
            sink.url or sink.where,
            sink.message,
        ]
        for sink in found.sinks
    ]
    header = ["exported to", "kind", "status", "episodes", "failed", "where", "message"]
    return section(
        "Scoring",
        *(el("p", line) for line in told if line),
        table(header, sinks, (3, 4)) if sinks else None,
        name="scoring",
    )


def _stats(results: Results, summary: SummaryHead) -> Mapping[str, MetricStats | Estimate]:
    """As the summary has them; of a run that was cut short before it had one, from its rows."""
    return summary.metric_stats or results.metrics


def _cells(found: MetricStats | Estimate | None, of: str) -> list[Child]:
    """Mean, interval and n of a table's row."""
    if found is None:
        return ["–", "–", "0"]
    return [figure(found.mean, f"{of}/mean"), _interval(found, of) or "–", figure(found.n, f"{of}/n")]


def _interval(found: HasInterval, of: str) -> Html | str:
    if found.ci95 is None:
        return interval(found)
    low, high = (figure(end, f"{of}/ci95/{at}") for at, end in enumerate(found.ci95))
    return Html(f"[{low}, {high}]")
