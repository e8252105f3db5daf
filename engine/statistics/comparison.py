"""Runs compared with the first of them, paired by episode, metric by metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.statistics.aggregate import DEFAULT, How
from engine.statistics.contrast import Contrast, adjusted, contrast
from engine.statistics.multiplicity import holm
from engine.statistics.pairing import Pairing, Side, episode_means, pair
from engine.statistics.rows import Episode, both_graded, column, columns


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric over the shared episodes: pairs + missing_left + missing_right + missing_both of them.

    missing_*: not measured in that run. found: None where there is no pair.
    """

    metric: str
    pairs: int
    missing_left: int
    missing_right: int
    missing_both: int
    found: Contrast | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The right run against the left one. only_left, only_right: episodes that the other has no row of.
    notes: in words, how far the two can be compared."""

    left: str
    right: str
    shared: int
    only_left: int
    only_right: int
    notes: list[str]
    metrics: list[MetricComparison]


def compare(
    sides: Sequence[Side], metrics: Sequence[str] | None = None, how: How = DEFAULT
) -> list[Comparison]:
    """Each run after the first against the first. ``metrics`` None: all that every run has measured.

    p-values are adjusted over all metrics of all runs. Raises ValueError for fewer than two runs.
    """
    if len(sides) < 2:
        raise ValueError("a comparison takes two runs or more")
    if metrics is None:
        metrics = sorted(set.intersection(*(set(columns(side.rows)) for side in sides)))
    return _adjusted([_compare(sides[0], right, metrics, how) for right in sides[1:]])


def _compare(left: Side, right: Side, metrics: Sequence[str], how: How) -> Comparison:
    pairing = pair(left, right)
    return Comparison(
        left=left.name,
        right=right.name,
        shared=len(pairing.shared),
        only_left=pairing.only_left,
        only_right=pairing.only_right,
        notes=pairing.notes,
        metrics=[_compare_metric(left, right, pairing, metric, how) for metric in metrics],
    )


def _compare_metric(left: Side, right: Side, pairing: Pairing, metric: str, how: How) -> MetricComparison:
    sides = column(left.rows, metric), column(right.rows, metric)
    mine, other = map(episode_means, sides)
    graded = both_graded(sides[0].graded, sides[1].graded)
    both = [e for e in pairing.shared if e in mine and e in other]
    missing_left = sum(e not in mine and e in other for e in pairing.shared)
    missing_right = sum(e in mine and e not in other for e in pairing.shared)
    return MetricComparison(
        metric=metric,
        pairs=len(both),
        missing_left=missing_left,
        missing_right=missing_right,
        missing_both=len(pairing.shared) - len(both) - missing_left - missing_right,
        found=_contrast(both, pairing, mine, other, how, metric, graded) if both else None,
    )


def _contrast(
    both: Sequence[Episode],
    pairing: Pairing,
    left: Mapping[Episode, float],
    right: Mapping[Episode, float],
    how: How,
    metric: str,
    graded: bool | None,
) -> Contrast:
    places = [pairing.shared[episode] for episode in both]
    return contrast(places, [left[e] for e in both], [right[e] for e in both], how, metric, graded)


def _adjusted(comparisons: list[Comparison]) -> list[Comparison]:
    tested = [m.found.p_value for c in comparisons for m in c.metrics if m.found]
    p_values = iter(holm(tested))
    return [
        replace(
            comparison,
            metrics=[
                replace(metric, found=adjusted(metric.found, next(p_values))) if metric.found else metric
                for metric in comparison.metrics
            ],
        )
        for comparison in comparisons
    ]
