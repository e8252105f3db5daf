"""From episode rows to a run's numbers. An episode that errored, or was not measured, is never a 0."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.statistics.clusters import By, group
from engine.statistics.intervals import Estimate, Otherwise, estimate
from engine.statistics.rows import Column, Row, columns
from engine.statistics.sums import mean


@dataclass(frozen=True, slots=True)
class How:
    """How intervals are made. by: what is taken as independent (:func:`engine.statistics.clusters.group`).
    otherwise: the interval of what is no rate. seed: of whatever is resampled."""

    by: By = "auto"
    otherwise: Otherwise = "t"
    seed: int = 0


DEFAULT = How()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``metrics``: means; ``by_task``: means by task; ``stats``: the same means with n and interval."""

    metrics: dict[str, float] = field(default_factory=dict)
    by_task: dict[str, dict[str, float]] = field(default_factory=dict)
    stats: dict[str, Estimate] = field(default_factory=dict)


def aggregate(rows: Iterable[Row], how: How = DEFAULT) -> Aggregate:
    """Means over completed rows, each over the rows that have the metric as a finite number."""
    found = columns(rows)
    stats = {name: estimate_column(column, name, how) for name, column in found.items()}
    return Aggregate(
        metrics={name: stat.mean for name, stat in stats.items()}, by_task=_by_task(found), stats=stats
    )


def estimate_column(column: Column, metric: str, how: How = DEFAULT) -> Estimate:
    """Mean and interval of a metric that was measured at least once."""
    grouping = group(column.places, how.by)
    return estimate(column.values, grouping, how.otherwise, how.seed, metric=metric, graded=column.graded)


def _by_task(found: dict[str, Column]) -> dict[str, dict[str, float]]:
    values: defaultdict[str, dict[str, list[float]]] = defaultdict(dict)
    for name, column in found.items():
        for place, value in zip(column.places, column.values, strict=True):
            values[place.task].setdefault(name, []).append(value)
    return {
        task: {name: mean(found) for name, found in metrics.items()}
        for task, metrics in sorted(values.items())
    }
