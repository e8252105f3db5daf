"""A run's numbers, as they may be told: with their intervals, and what is missing from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import msgspec

from engine.control.reports import NotFoundError
from engine.scoring.asked import wants_verdicts
from engine.statistics.aggregate import aggregate
from engine.statistics.budget import HEADLINES, Headline, budget_of, by_worth, headline, headline_metric
from engine.statistics.error_groups import ErrorGroup, error_groups, nothing_measured
from engine.statistics.intervals import Estimate
from engine.statistics.repeats import Repeats, repeats
from engine.statistics.rows import column, settle
from engine.statistics.tables import TaskTable, task_table
from engine.store.records import VERDICT, EpisodeRow, EvalRequest, Spec, task_of
from engine.store.rundir import RunDir
from engine.store.runs import read_row_lines, view_run

MOST_SCENES = 100
"""More would bury what else there is to read."""


class Results(msgspec.Struct, kw_only=True):
    """``headline``: the metric that stands for the run, or why it is withheld. ``metrics``: all, over what
    completed. ``tasks``: the headline's metric by task, where there are several, else by scene, where scenes
    recur or are tasks. ``repeats``: its pass rates, where it is 0 or 1 and episodes were repeated.
    ``instead``: where the headline is withheld, the metrics that would not be, the likeliest first.
    ``errors``: of the episodes, the commonest first.
    """

    headline: Headline
    metrics: dict[str, Estimate]
    tasks: TaskTable | None = None
    repeats: Repeats | None = None
    instead: list[str] = []
    errors: list[ErrorGroup] = []


def results_of(run: RunDir, metric: str | None = None) -> Results:
    """The numbers so far. ``metric``: the headline's; NotFoundError where no episode has measured it.

    A run whose episodes are to pass or fail stands by that, also where none could be told: another metric in
    its place would hide it.
    """
    view = view_run(run)
    lines = read_row_lines(run)
    rows, _ = settle(lines)
    metrics = aggregate(rows).stats
    wanted = {VERDICT} if view.spec and wants_verdicts(view.spec.scoring) else set()
    if metric is not None and metric not in metrics and metric not in wanted:
        known = ", ".join(metrics) or "none yet"
        raise NotFoundError(f"no episode of {run.run_id} has measured {metric!r}; measured: {known}")
    named = {name for row in rows for name in row.measures}  # also what was never finite
    name = metric or headline_metric([*metrics, *sorted((named | wanted) - metrics.keys())]) or HEADLINES[0]
    planned = _planned_by_task(view.spec.eval) if view.spec else {}
    errors = error_groups(rows)
    total, budget = view.head.total_episodes, budget_of(view.spec.scoring if view.spec else {})
    found = headline(lines, name, total, budget)
    if rows and all(row.status == "error" for row in rows):
        found = replace(found, withheld=nothing_measured(errors))
    scenes = {row.scene_id for row in rows if row.scene_id}
    tasks = None
    if len(planned.keys() | {row.task for row in rows}) > 1:
        tasks = task_table(lines, name, planned)
    elif 2 <= len(scenes) <= MOST_SCENES and (len(scenes) < len(rows) or _scenes_are_tasks(view.spec)):
        tasks = task_table(lines, name, by="scene")
    return Results(
        headline=found,
        metrics=metrics,
        tasks=tasks,
        repeats=_repeats(rows, name),
        instead=[other for other in by_worth(metrics) if headline(lines, other, total, budget).estimate]
        if found.withheld
        else [],
        errors=errors,
    )


def _planned_by_task(request: EvalRequest) -> dict[str, int]:
    """Empty where the request names no tasks of single episodes: then there is only one."""
    own = request.episode_selectors or []
    counts = Counter(task_of({**request.selectors, **selectors}) for selectors in own)
    return {task: count * request.repeats for task, count in counts.items()}


def _scenes_are_tasks(spec: Spec | None) -> bool:
    return spec is not None and any(nodeset.scenes_are_tasks for nodeset in spec.needs.nodesets)


def _repeats(rows: list[EpisodeRow], metric: str) -> Repeats | None:
    if all(row.repeat == 1 for row in rows) or not column(rows, metric).is_rate(metric):
        return None
    return repeats(rows, metric)
