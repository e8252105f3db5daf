"""What ends, resumes or removes runs: what it shows, and that it does nothing unless it was meant."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from engine.control.queue_reports import QueueReport
from engine.store.records import Progress
from tests.fakes.clock import START
from tests.fakes.control import FakeControl, busy_control, fake_report, mixed_rows
from tests.tui.scored import scored_row, waits
from tests.tui.screen import centre, settled, text_of, until, until_seen
from tui.app import ControlCentre
from tui.losses import Left, cancel_lines, left_of
from tui.models import Snapshot
from tui.widgets.confirm import Confirm
from tui.widgets.menu import Menu

HELD, WAITS, RUNS, DONE, CANCELLED, FAILED = (
    "20260518_142900",
    "20260518_142830",
    "20260518_141000",
    "20260518_120000",
    "20260518_113000",
    "20260518_110000",
)


async def asked(pilot: Pilot[Any], run: str, key: str) -> None:
    """The dialog of a key, over a run."""
    app = pilot.app
    assert isinstance(app, ControlCentre)
    await settled(pilot)
    app.home.runs.go_to_id(run)
    await pilot.press(key)
    await until(pilot, lambda: isinstance(app.screen, Confirm | Menu))


async def over(pilot: Pilot[Any]) -> None:
    """The dialog is gone, and what it did is through."""
    app = pilot.app
    assert isinstance(app, ControlCentre)
    await until(pilot, lambda: app.screen is app.home)
    await until(pilot, lambda: all(entry.outcome for entry in app.activity.entries))


@pytest.fixture
def control() -> FakeControl:
    return busy_control()


def test_a_cancel_tells_what_is_lost_what_is_kept_and_what_can_be_resumed(control: FakeControl) -> None:
    snapshot = Snapshot(now=START, queue=control.queue_report)
    assert cancel_lines([control.reports[2], control.reports[1], control.reports[3]], snapshot) == [
        "20260518_141000  navA, toy_follow",
        "  lost: 4 episodes in flight, 72 steps",
        "  kept: 40 of 100 episodes, 20:00 of work, 0.3 GPU hours",
        "  R resumes the other 60 in the same run",
        "20260518_142830  navB, toy_follow",
        "  waits, place 1 in the queue: nothing of it runs; R queues it again",
        "20260518_120000  baseline, toy_follow",
        "  is over already (completed): left as it is",
    ]


def test_a_run_that_has_just_begun_loses_no_episode() -> None:
    run = fake_report("20260518_141000", "running", total=3)
    lines = cancel_lines([run], Snapshot(now=START, queue=QueueReport()))
    assert lines[1] == "  lost: what it is doing now, no finished episode"
    assert lines[2] == "  kept: 0 of 3 episodes, 20:00 of work"


def test_a_cancel_tells_what_becomes_of_scores_that_are_still_to_come() -> None:
    run = fake_report("20260518_141000", "running", total=3, rows=mixed_rows(3))
    run.progress = Progress(run_id=run.run_id, updated_at="", scoring=[waits(2, "judge:helpful", 4.0)])
    lines = cancel_lines([run], Snapshot(now=START, queue=QueueReport()))
    assert lines[3].strip().startswith("not scored: 1 episode; what was begun for scores ends")
    assert lines[4:] == []
    run.progress.scoring = []
    assert "not scored" not in " ".join(cancel_lines([run], Snapshot(now=START, queue=QueueReport())))


def test_what_is_left_counts_what_never_ended_and_what_the_box_failed() -> None:
    rows = mixed_rows(10)
    rows[0].status, rows[7].status, rows[7].error_class = "cancelled", "error", "infra"
    assert left_of(fake_report("20260518_141000", "cancelled", total=24), rows) == Left(unplayed=15, infra=1)
    rows[3].scoring = "pending"
    assert left_of(fake_report("20260518_141000", "cancelled", total=24), rows).unscored == 1
    assert left_of(fake_report("20260518_141000", "completed", total=24), rows).unscored == 0


@pytest.mark.parametrize(
    ("key", "calls"), [("y", [("cancel", RUNS, None)]), ("n", []), ("enter", []), ("escape", [])]
)
async def test_only_y_cancels(control: FakeControl, key: str, calls: list[Any]) -> None:
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot, RUNS, "x")
        assert any("4 episodes in flight" in line for line in text_of(app))
        await pilot.press(key)
        await over(pilot)
    assert control.calls == calls


async def test_what_is_marked_is_cancelled_and_what_is_over_is_left(control: FakeControl) -> None:
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        app.home.runs.model.marks = {WAITS, RUNS, DONE}
        app.home.runs.go_to_id(DONE)
        await pilot.press("x")
        await until_seen(pilot, "cancel 2 runs")
        assert any("is over already (completed)" in line for line in text_of(app))
        await pilot.press("y")
        await over(pilot)
    assert sorted(control.calls) == [("cancel", RUNS, None), ("cancel", WAITS, None)]


async def test_every_target_of_many_can_be_read_before_the_answer() -> None:
    runs = [fake_report(f"20260518_1200{second:02}", "running", total=3) for second in range(12)]
    control = FakeControl(reports=runs)
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("asterisk", "x")
        await until_seen(pilot, "cancel 12 runs")
        assert not any("20260518_120011  toy" in line for line in text_of(app))
        await pilot.press("pagedown", "pagedown", "pagedown", "pagedown")
        await until_seen(pilot, "20260518_120011  toy")
        await pilot.press("y")
        await over(pilot)
    assert len(control.calls) == 12


async def test_a_kill_takes_the_id(control: FakeControl) -> None:
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot, RUNS, "X")
        await pilot.press(*"yes", "enter")
        await over(pilot)
        assert not control.calls
        await asked(pilot, RUNS, "X")
        await pilot.press(*RUNS, "enter")
        await over(pilot)
    assert control.calls == [("cancel", RUNS, 0.0)]


@pytest.mark.parametrize(("key", "errors"), [("r", False), ("e", True)])
async def test_a_resume_says_how_many_and_takes_the_boxs_failures_when_told(
    control: FakeControl, key: str, errors: bool
) -> None:
    rows = mixed_rows(10)
    control.rows[CANCELLED] = rows
    infra = sum(row.error_class == "infra" for row in rows)
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot, CANCELLED, "R")
        assert any("the 14 episodes without a finished row" in line for line in text_of(app))
        assert any(f"those, and the {infra} that the box failed" in line for line in text_of(app))
        await pilot.press(key)
        await over(pilot)
    assert control.calls == [("resume", CANCELLED, errors)]


async def test_a_run_that_was_cut_short_while_it_was_scored_is_taken_up(control: FakeControl) -> None:
    rows = [scored_row(0), scored_row(1, scoring="pending")]
    control.rows[CANCELLED] = rows
    control.reports = [
        fake_report(CANCELLED, "aborted", rows=rows) if run.run_id == CANCELLED else run
        for run in control.reports
    ]
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot, CANCELLED, "R")
        assert any("the scoring of 1 episode" in line for line in text_of(app))
        await pilot.press("r")
        await over(pilot)
    assert control.calls == [("resume", CANCELLED, False)]


async def test_a_run_with_nothing_left_is_not_resumed(control: FakeControl) -> None:
    control.rows[DONE] = mixed_rows(4)
    control.reports[3] = fake_report(DONE, rows=control.rows[DONE])
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot, DONE, "R")
        await pilot.press("r")
        await until(pilot, lambda: app._notifications)
        await pilot.press("escape")
        await over(pilot)
    assert not control.calls


async def test_deleting_takes_the_id_and_only_what_is_over(control: FakeControl) -> None:
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        app.home.runs.go_to_id(RUNS)
        await pilot.press("D")
        assert app.screen is app.home
        await asked(pilot, FAILED, "D")
        assert any("nothing brings it back" in line for line in text_of(app))
        await pilot.press("escape")
        await over(pilot)
        assert not control.calls
        await asked(pilot, FAILED, "D")
        await pilot.press(*FAILED, "enter")
        await over(pilot)
    assert control.calls == [("delete", FAILED)]
