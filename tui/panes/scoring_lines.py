"""How the metrics tell of a run's scoring: verdicts, what is not measured, what waits, and each sink."""

from __future__ import annotations

from collections.abc import Iterator

from rich.style import Style

from engine.control.scoring_report import ScoringReport
from engine.figures import count, number
from engine.statistics.intervals import Estimate
from engine.store.records import Identity
from engine.store.scoring_tally import not_judged_in_words, use_in_words
from tui.drawing import Drawing
from tui.panes.metric_lines import interval
from tui.widgets.drawn import Line
from tui.widgets.wrapping import wrapped

LABEL = 14
LISTED_CASES = 5
"""Of a sink, the episodes that failed and are named; all of them are in their own scores."""
LEFT = {
    "backend": "The backend fetches their traces, and goes on with them by itself.",
    "resume": "R goes on with what is pending, where it was cut short.",
    "rescore": "A scores again what is left, without playing anything.",
}
"""How what is left undone is done."""


def scoring_lines(
    drawing: Drawing, report: ScoringReport, rate: Estimate | None, waits: str, width: int
) -> list[Line]:
    """rate: of the verdicts, where it may be told. waits: what the episodes that are scored now wait for."""
    lines: list[Line] = [[("scoring", drawing.strong)]]
    for label, text, style in _facts(drawing, report, rate, waits):
        told = wrapped(text, max(10, width - LABEL))
        lines += [
            [(f"{label if not place else '':<{LABEL}}", drawing.dim), (line, style)]
            for place, line in enumerate(told)
        ]
    lines += _sinks(drawing, report, width)
    if report.left:
        lines += [[(line, drawing.warn)] for line in wrapped(LEFT[report.left], width)]
    return lines


def report_links(report: ScoringReport) -> list[str]:
    """Where episodes were exported to, the first of each sink."""
    return [sink.url for sink in report.sinks if sink.url]


def _facts(
    drawing: Drawing, report: ScoringReport, rate: Estimate | None, waits: str
) -> Iterator[tuple[str, str, Style]]:
    told = report.verdicts
    if rate is not None:
        told += f"; pass rate {number(rate.mean)} {interval(rate)}"
    yield "verdicts", told, drawing.plain
    if report.fallbacks:
        yield "lower rungs", report.fallbacks_told, drawing.warn
    if report.unmeasured:
        lacking = ", ".join(f"{metric} in {n}" for metric, n in report.unmeasured.items())
        yield "not measured", lacking, drawing.warn
    if report.hidden:
        yield "hidden", report.hidden_told, drawing.warn
    if report.tally.not_judged:
        yield "not judged", not_judged_in_words(report.tally), drawing.bad
    if report.tally.judges_used.asked:
        yield "judges took", use_in_words(report.tally.judges_used), drawing.plain
    if report.degraded:
        yield "traces", f"{report.degraded} graded without: it could not be collected", drawing.warn
    if report.not_collected:
        yield "traces", f"{report.not_collected} could not be collected", drawing.bad
    if report.pending:
        text = waits.removeprefix("scoring: ") or f"{count(report.pending, 'episode')}, with nothing at work"
        yield "to come", text, drawing.marks["scoring"].style if waits else drawing.warn


def _sinks(drawing: Drawing, report: ScoringReport, width: int) -> Iterator[Line]:
    """How many episodes arrived at each, and why others did not."""
    styles = {
        "succeeded": drawing.good,
        "partial": drawing.warn,
        "failed": drawing.bad,
        "pending": drawing.marks["scoring"].style,
        "nothing sent": drawing.dim,
    }
    blank = (" " * LABEL, drawing.dim)
    for sink in report.sinks:
        errors = [(case.identity, case.error) for case in sink.cases if case.error is not None]
        warned = sum(case.error is None and case.warning is not None for case in sink.cases)
        counts = f"  {sink.sent}/{count(sink.total, 'episode')}"
        yield [
            (f"{'export':<{LABEL}}", drawing.dim),
            (f"{sink.name} ({sink.sink})  ", drawing.plain),
            (sink.status, styles[sink.status]),
            (counts + (f", {warned} not whole" if warned else ""), drawing.plain),
        ]
        if place := sink.url or sink.where:
            yield [blank, (place, drawing.key)]
        for identity, error in errors[:LISTED_CASES]:
            for line in wrapped(f"{_named(identity)}: {error}", max(10, width - LABEL)):
                yield [blank, (line, drawing.bad)]
        if len(errors) > LISTED_CASES:
            yield [blank, (f"and {len(errors) - LISTED_CASES} more", drawing.bad)]


def _named(identity: Identity) -> str:
    index, _, repeat = identity
    return f"episode {index}" + (f", repeat {repeat}" if repeat > 1 else "")
