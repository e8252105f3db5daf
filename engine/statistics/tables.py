"""One metric task by task, with the mean over all episodes and the mean over tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.statistics.aggregate import DEFAULT, How, estimate_column
from engine.statistics.intervals import EVERYWHERE, Estimate, mean_estimate
from engine.statistics.missingness import UNIT, Missingness, missingness
from engine.statistics.rows import Row, column, settle


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One task; ``estimate`` is None where nothing of it was measured."""

    task: str
    estimate: Estimate | None
    missing: Missingness


@dataclass(frozen=True, slots=True)
class TaskTable:
    """tasks: in order of their names. pooled: every episode counts the same. macro: every task counts the
    same; its interval takes the tasks as drawn from more of their kind. unmeasured_tasks: those that neither
    mean holds."""

    metric: str
    tasks: list[TaskLine]
    pooled: Estimate | None
    macro: Estimate | None
    missing: Missingness
    unmeasured_tasks: list[str]


def task_table(
    lines: Iterable[Row], metric: str, planned: Mapping[str, int] | None = None, how: How = DEFAULT
) -> TaskTable:
    """The table of a metric. ``lines``: rows in the order of their writing; ``planned``: task → episodes."""
    asked = dict(planned or {})
    written: defaultdict[str, list[Row]] = defaultdict(list, {task: [] for task in asked})
    for line in lines:
        written[line.task].append(line)
    tasks = [
        TaskLine(task, _estimate(found, metric, how), missingness(found, metric, asked.get(task)))
        for task, found in sorted(written.items())
    ]
    everything = [line for found in written.values() for line in found]
    pooled = _estimate(everything, metric, how)
    means = [line.estimate.mean for line in tasks if line.estimate]
    span = UNIT if pooled and pooled.method == "wilson" else EVERYWHERE
    return TaskTable(
        metric=metric,
        tasks=tasks,
        pooled=pooled,
        macro=mean_estimate(means, None, how.otherwise, how.seed, span) if means else None,
        missing=missingness(everything, metric, sum(line.missing.planned for line in tasks)),
        unmeasured_tasks=[line.task for line in tasks if line.estimate is None],
    )


def _estimate(lines: Iterable[Row], metric: str, how: How) -> Estimate | None:
    found = column(settle(lines)[0], metric)
    return estimate_column(found, metric, how) if found.values else None
