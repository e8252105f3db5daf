from __future__ import annotations

import math

import pytest
from hypothesis import given
from scipy import stats

from engine.statistics.aggregate import How, aggregate
from engine.statistics.tables import task_table
from tests.statistics.making import Row, hostile_rows, patient


def rows_of(**outcomes):
    return [
        Row(index, {"success": float(value)}, task=task)
        for task, values in outcomes.items()
        for index, value in enumerate(values)
    ]


def test_pooled_counts_episodes_and_macro_counts_tasks():
    rows = rows_of(pick=[1, 1, 1, 1, 1, 0], open=[0, 0], push=[1, 0])
    table = task_table(rows, "success")
    assert [(line.task, line.estimate.mean, line.estimate.n) for line in table.tasks] == [
        ("open", 0.0, 2),
        ("pick", 5 / 6, 6),
        ("push", 0.5, 2),
    ]
    assert (table.pooled.mean, table.pooled.n, table.pooled.method) == (0.6, 10, "wilson")
    means = [0.0, 5 / 6, 0.5]
    assert table.macro.mean == pytest.approx(sum(means) / 3)
    expected = stats.t.interval(0.95, 2, loc=table.macro.mean, scale=stats.sem(means))
    assert expected[0] < 0
    assert expected[1] > 1
    assert table.macro.ci95 == (0.0, 1.0)
    assert table.pooled == aggregate(rows).stats["success"]


def test_a_table_by_scene_counts_an_episode_once_under_its_last_scene():
    row = {"success": 1.0}
    rows = [
        Row(0, {}, status="error"),
        Row(0, row, scene_id="flat"),
        Row(1, {"success": 0.0}, scene_id="house"),
        Row(2, row, scene_id="house"),
        Row(3, {}, status="error"),
    ]
    table = task_table(rows, "success", by="scene")
    assert [(line.task, line.estimate and line.estimate.mean) for line in table.tasks] == [
        ("", None),
        ("flat", 1.0),
        ("house", 0.5),
    ]
    assert list(table.names().values()) == ["no scene named", "flat", "house"]
    assert (table.pooled.n, table.macro.mean, table.missing.planned) == (3, 0.75, 4)


def test_a_task_of_which_nothing_was_measured_is_shown_and_in_no_mean():
    rows = [
        *rows_of(pick=[1, 0]),
        Row(0, {"success": 0.0}, task="open", status="error"),
        Row(1, {"success": math.nan}, task="open"),
    ]
    table = task_table(rows, "success", planned={"open": 3, "push": 4})
    assert [(line.task, line.estimate is None, line.missing.planned) for line in table.tasks] == [
        ("open", True, 3),
        ("pick", False, 2),
        ("push", True, 4),
    ]
    assert table.unmeasured_tasks == ["open", "push"]
    assert table.macro.mean == table.pooled.mean == 0.5
    assert table.macro.ci95 is None
    assert (table.missing.planned, table.missing.measured, table.missing.not_run) == (9, 2, 5)


def test_the_macro_mean_has_a_t_interval_over_the_tasks():
    rows = [Row(i, {"ne": 3.0 + i + task}, task=f"t{task}") for task in range(4) for i in range(task + 1)]
    means = [3.0, 4.5, 6.0, 7.5]
    expected = stats.t.interval(0.95, 3, loc=5.25, scale=stats.sem(means))
    macro = task_table(rows, "ne").macro
    assert (macro.mean, macro.n, macro.ci95) == (5.25, 4, pytest.approx(expected))


def test_nothing_measured_is_an_empty_table():
    table = task_table([], "success")
    assert (table.tasks, table.pooled, table.macro) == ([], None, None)
    errored = task_table([Row(0, {}, status="error")], "success")
    assert (errored.pooled, errored.macro, errored.unmeasured_tasks) == (None, None, ["_default"])


def test_five_tasks_or_more_are_what_the_pooled_mean_is_clustered_by():
    outcomes = {f"t{i}": [i % 2] * 8 for i in range(6)}
    table = task_table(rows_of(**outcomes), "success")
    assert (table.pooled.by, table.pooled.groups) == ("task", 6)
    assert task_table(rows_of(**outcomes), "success", how=How(by="none")).pooled.by is None
    assert all(line.estimate.by is None for line in table.tasks)


@patient
@given(hostile_rows())
def test_lines_of_a_hostile_table_add_up_in_any_order(rows):
    table = task_table(rows, "success")
    for part in ("planned", "measured", "unmeasured", "errored", "infra", "cancelled", "not_run", "retried"):
        assert getattr(table.missing, part) == sum(getattr(line.missing, part) for line in table.tasks)
    assert table.pooled == aggregate(rows).stats.get("success")
    by_task = {
        task: means["success"] for task, means in aggregate(rows).by_task.items() if "success" in means
    }
    assert by_task == {line.task: line.estimate.mean for line in table.tasks if line.estimate}
    assert repr(task_table(rows[::-1], "success")) == repr(table)
