"""From episode rows to a run's numbers. An episode that errored, or was not measured, is never a 0."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engine.statistics.intervals import mean, mean_interval, standard_error


class Row(Protocol):
    """What aggregation reads of an episode row."""

    @property
    def episode_index(self) -> int: ...
    @property
    def repeat(self) -> int: ...
    @property
    def status(self) -> str: ...
    @property
    def metrics(self) -> Mapping[str, float | None]: ...
    @property
    def task(self) -> str: ...


@dataclass(frozen=True, slots=True)
class MetricStats:
    """A metric over the episodes that have it; ``ci95`` is None below two values unless it is a rate."""

    mean: float
    n: int
    stderr: float | None
    ci95: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``metrics``: means; ``by_task``: means by task; ``stats``: the same means with n and interval."""

    metrics: dict[str, float] = field(default_factory=dict)
    by_task: dict[str, dict[str, float]] = field(default_factory=dict)
    stats: dict[str, MetricStats] = field(default_factory=dict)


def aggregate(rows: Iterable[Row]) -> Aggregate:
    """Means over completed rows, each over the rows that have the metric as a finite number."""
    values: dict[str, list[float]] = defaultdict(list)
    by_task: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(rows, key=lambda r: (r.episode_index, r.repeat)):
        if row.status != "completed":
            continue
        for name, value in row.metrics.items():
            if value is None or not math.isfinite(value):
                continue
            values[name].append(float(value))
            by_task[row.task][name].append(float(value))
    return Aggregate(
        metrics={name: mean(v) for name, v in sorted(values.items())},
        by_task={
            task: {name: mean(v) for name, v in sorted(m.items())} for task, m in sorted(by_task.items())
        },
        stats={name: summarise(v) for name, v in sorted(values.items())},
    )


def summarise(values: list[float]) -> MetricStats:
    """Mean, count, standard error and 95 % interval of one metric's values (at least one)."""
    return MetricStats(mean(values), len(values), standard_error(values), mean_interval(values))
