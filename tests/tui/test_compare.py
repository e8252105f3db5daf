"""Runs side by side: what is told of each difference, and the way into both logs of what flipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.control.comparing import CompareReport, compare_metrics
from engine.control.reports import ControlError
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from engine.store.runs import read_rows
from tests.fakes.control import FakeControl, busy_control
from tests.fakes.finished_runs import fake_line, fake_row, make_run
from tests.tui.screen import centre, settled, text_of, until, until_seen
from tui.app import ControlCentre
from tui.models_compare import differences_of, flipped_of, notes_of, signed, told, widest
from tui.models_tasks import by_task
from tui.screens.compare import CompareView


def passed(index: int, run: int) -> bool:
    """The further the run, the more it passes; one episode goes the other way."""
    return index % 4 < 1 + run if index != 3 else run == 0


def some_runs(root: Path, count: int = 2) -> list[RunDir]:
    runs = []
    for run in range(count):
        rows = [
            fake_row(
                index,
                metrics={"spl": index % 5 / 4, "success": float(passed(index, run))},
                selectors={"task_id": f"[kitchen] {index % 2}"},
                status="completed",
            )
            for index in range(24 - run)
        ]
        logs = {index: [fake_line(0, "step")] for index in range(24)}
        runs.append(make_run(root, rows=rows, label=f"nav[{'ABCD'[run]}]", logs=logs))
    return runs


def on_disk(root: Path, count: int = 2) -> tuple[FakeControl, list[str], CompareReport]:
    runs = some_runs(root, count)
    control = busy_control(root)
    report = compare_metrics(runs)
    control.answers["compare"] = report
    for run in runs:
        control.rows[run.run_id] = read_rows(run)
    return control, [run.run_id for run in runs], report


def test_each_metric_of_each_run_stands_against_the_first(tmp_path: Path) -> None:
    _, _, report = on_disk(tmp_path, 4)
    rows = differences_of(report)
    assert [(row.metric.metric, row.letter) for row in rows] == [
        *(("success", letter) for letter in "BCD"),
        *(("spl", letter) for letter in "BCD"),
    ]
    assert widest(rows)["spl"] == 0.0
    assert 0 < widest(rows)["success"] <= 1


def test_a_difference_is_told_with_interval_p_and_what_would_settle_it(tmp_path: Path) -> None:
    _, _, report = on_disk(tmp_path)
    success, spl = differences_of(report)
    head, verdict, moved = told(success)
    assert head.startswith("success: B ")
    assert "difference +0." in head
    assert "after Holm" in head
    assert "(mcnemar)" in head or "(permutation)" in head
    assert verdict.startswith(("unsettled: about ", "B is higher than A"))
    assert "23 pairs" in moved
    assert told(spl)[1] == "the same in every pair"


def test_lost_episodes_come_before_gained_ones(tmp_path: Path) -> None:
    _, _, report = on_disk(tmp_path)
    flipped = flipped_of(differences_of(report)[0])
    assert [(row.flip.episode_index, row.gained) for row in flipped[:2]] == [(3, False), (1, True)]
    assert flipped_of(None) == []


def test_notes_name_the_runs_by_their_letters(tmp_path: Path) -> None:
    _, ids, report = on_disk(tmp_path)
    notes = notes_of(report)
    assert any("only in A" in note for note in notes)
    assert not any(run_id in note for run_id in ids for note in notes)


@pytest.mark.parametrize(("value", "text"), [(0.0, "+0.000"), (-0.25, "-0.250"), (12345.6, "+1.235e+04")])
def test_a_difference_has_its_sign(value: float, text: str) -> None:
    assert signed(value) == text


async def opened(pilot: Any, app: ControlCentre, ids: list[str]) -> CompareView:
    await settled(pilot)
    app.compared = list(ids)
    await pilot.press("C")
    await until(pilot, lambda: isinstance(app.view, CompareView) and app.view.report is not None)
    assert isinstance(app.view, CompareView)
    return app.view


async def test_from_the_runs_to_the_log_of_an_episode_that_flipped(tmp_path: Path) -> None:
    control, ids, _ = on_disk(tmp_path)
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot, app, ids)
        shown = "\n".join(text_of(app))
        assert "nav[B] fake_follow completed, 23 episodes" in shown
        assert "Flipped success, A to B: 1 lost, 6 gained" in shown
        await pilot.press("enter")
        assert view.pane is view.flipped
        await pilot.press("enter")
        await until(pilot, lambda: any("log of episode 3 of" in line for line in text_of(app)))
        await pilot.press("j", "enter")
        await until(pilot, lambda: app.view is not None and app.view.view_name == "log")
        assert app.view is not None
        assert app.view.target.startswith(f"{ids[1]}/ep0003")


async def test_the_cursor_of_the_differences_says_what_the_rest_is_about(tmp_path: Path) -> None:
    control, ids, _ = on_disk(tmp_path)
    app = centre(control)
    async with app.run_test(size=(160, 45)) as pilot:
        await opened(pilot, app, ids)
        await pilot.press("j")
        await pilot.pause()
        shown = "\n".join(text_of(app))
        assert "the same in every pair" in shown
        assert "Flipped spl, A to B: 0 lost, 0 gained" in shown


def test_tasks_are_compared_over_the_episodes_that_both_have() -> None:
    def row(index: int, task: str, value: float | None, repeat: int = 1) -> EpisodeRow:
        return fake_row(index, metrics={"spl": value}, selectors={"task_id": task}, repeat=repeat)

    left = [row(0, "a", 0.5), row(1, "a", 1.0), row(2, "b", 0.2), row(3, "b", None), row(4, "c", 1.0)]
    right = [row(0, "a", 0.0), row(0, "a", 0.5, 2), row(1, "a", 1.0), row(2, "b", 0.4), row(3, "b", 1.0)]
    a, b = by_task(left, right, "spl")
    assert (a.task, a.pairs, a.left, a.right, a.lower, a.higher) == ("a", 2, 0.75, 0.625, 1, 0)
    assert (b.task, b.pairs, b.difference, b.lower, b.higher) == ("b", 1, pytest.approx(0.2), 0, 1)
    assert by_task(left, right, "success") == []


async def test_where_there_is_room_tasks_stand_beside_what_flipped(tmp_path: Path) -> None:
    control, ids, _ = on_disk(tmp_path)
    app = centre(control)
    async with app.run_test(size=(160, 45)) as pilot:
        view = await opened(pilot, app, ids)
        await until_seen(pilot, "Tasks 2: success, A to B")
        shown = text_of(app)
        [together] = [line for line in shown if "Verdict" in line]
        assert "Flipped success, A to B" in together
        assert any("[kitchen] 1" in line and line.rstrip().endswith("[kitchen] 1") for line in shown)
        await pilot.press("tab")
        assert view.pane is view.tasks
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: not view.tasks.display)
        assert view.pane is view.differences


async def test_what_cannot_be_compared_says_why(tmp_path: Path) -> None:
    control, ids, _ = on_disk(tmp_path)
    control.refuses["compare"] = ControlError("no run is called '[gone]'")
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        app.open_view("compare", f"{ids[0]},[gone]")
        await until(pilot, lambda: any("no run is called '[gone]'" in line for line in text_of(app)))
        del control.refuses["compare"]
        await pilot.press("r")
        await until(pilot, lambda: any("Differences 2" in line for line in text_of(app)))


async def test_a_comparison_takes_two_runs() -> None:
    app = centre()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("c", "C")
        await pilot.pause()
        assert app.depth == 1
