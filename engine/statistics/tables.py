"""One metric task by task, or scene by scene, with the mean over all episodes and the mean over tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from engine.statistics.aggregate import DEFAULT, How, estimate_column
from engine.statistics.intervals import EVERYWHERE, Estimate, mean_estimate
from engine.statistics.missingness import UNIT, Missingness, missingness
from engine.statistics.rows import Row, column, settle
from engine.store.task_names import task_names

By = Literal["task", "scene"]


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
    mean holds. by: what stands in the place of tasks."""

    metric: str
    tasks: list[TaskLine]
    pooled: Estimate | None
    macro: Estimate | None
    missing: Missingness
    unmeasured_tasks: list[str]
    by: By = "task"

    def names(self) -> dict[str, str]:
        """What people call each of its tasks."""
        if self.by == "task":
            return task_names(line.task for line in self.tasks)
        return {line.task: line.task or "no scene named" for line in self.tasks}


def task_table(
    lines: Iterable[Row],
    metric: str,
    planned: Mapping[str, int] | None = None,
    how: How = DEFAULT,
    by: By = "task",
) -> TaskTable:
    """The table of a metric. ``lines``: rows in the order of their writing; ``planned``: task → episodes."""
    asked = dict(planned or {})
    written: defaultdict[str, list[Row]] = defaultdict(list, {task: [] for task in asked})
    # An episode may have failed before its scene was known, and have been played again: its last row counts.
    for line in lines if by == "task" else settle(lines)[0]:
        written[line.task if by == "task" else line.scene_id].append(line)
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
        by=by,
    )


def _estimate(lines: Iterable[Row], metric: str, how: How) -> Estimate | None:
    found = column(settle(lines)[0], metric)
    return estimate_column(found, metric, how) if found.values else None
