"""A run beside another, paired by episode."""

from __future__ import annotations

from collections.abc import Mapping

from engine.control.comparing import CompareReport
from engine.figures import number
from engine.report.markup import Child, Html, breakable, el, figure, section, table
from engine.statistics.comparison import MetricComparison
from engine.statistics.contrast import Flip

FLIPS = 200
"""Links to flipped episodes, of a metric."""


def comparison(report: CompareReport, anchors: Mapping[tuple[int, str], str]) -> Html:
    """``anchors``: episode index and selectors → where the page tells of that episode."""
    other, this = report.runs
    found = report.comparisons[0]
    rows = [_row(metric, at) for at, metric in enumerate(found.metrics) if metric.found is not None]
    header: list[Child] = ["metric", breakable(_called(other.run_id, other.label)), "this run", "difference"]
    header += ["95 % interval", "p", "pairs", "this run is"]
    flips = [line for metric in found.metrics for line in _flips(metric, anchors)]
    return section(
        f"Against {_called(other.run_id, other.label)}",
        el("p", f"Differences are {this.run_id} minus {other.run_id}, over the episodes that both have."),
        table(header, rows, (1, 2, 3, 4, 5, 6)) if rows else el("p", "There is nothing to compare."),
        *flips,
        *(el("p", note, cls="note") for note in dict.fromkeys([*found.notes, *report.notes])),
        el("p", "p: two-sided, corrected for all metrics (Holm).", cls="note") if rows else None,
        name="comparison",
    )


def _row(metric: MetricComparison, at: int) -> list[Child]:
    found = metric.found
    assert found is not None
    of = f"compare#/comparisons/0/metrics/{at}"
    ends = found.difference.ci95
    between = None
    if ends is not None:
        low, high = (figure(end, f"{of}/found/difference/ci95/{place}") for place, end in enumerate(ends))
        between = Html(f"[{low}, {high}]")
    return [
        metric.metric,
        figure(found.left, f"{of}/found/left"),
        figure(found.right, f"{of}/found/right"),
        figure(found.difference.mean, f"{of}/found/difference/mean", lambda value: f"{value:+.3f}"),
        between or "–",
        figure(found.p_adjusted, f"{of}/found/p_adjusted", _p),
        figure(metric.pairs, f"{of}/pairs"),
        el("b", found.verdict, cls=found.verdict),
    ]


def _flips(metric: MetricComparison, anchors: Mapping[tuple[int, str], str]) -> list[Html]:
    """Of a rate, a line for each way that episodes flipped."""
    if metric.found is None or metric.found.tests.mcnemar is None:
        return []
    told = []
    for left, way in ((1.0, "1 there, 0 here"), (0.0, "0 there, 1 here")):
        flipped = [flip for flip in metric.found.flipped if flip.left == left]
        if flipped:
            links: list[Child] = [_link(flip, anchors) for flip in flipped[:FLIPS]]
            more = f"and {len(flipped) - FLIPS} more" if len(flipped) > FLIPS else None
            told.append(el("p", f"{metric.metric}: {way} in {len(flipped)}: ", *links, more, cls="flips"))
    return told


def _link(flip: Flip, anchors: Mapping[tuple[int, str], str]) -> Html:
    anchor = anchors.get((flip.episode_index, flip.selectors))
    return Html(el("a", str(flip.episode_index), href=f"#{anchor}" if anchor else None) + " ")


def _called(run_id: str, label: str) -> str:
    return f"{run_id} ({label})" if label else run_id


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else number(value)
