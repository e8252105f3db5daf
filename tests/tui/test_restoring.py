"""The screen is left, and comes back as it was."""

from __future__ import annotations

from tests.fakes.control import busy_control, fake_report, mixed_rows, moment
from tests.tui.screen import centre, settled, text_of, until
from tui.state_file import TableState, UiState, View

SMALL, LARGE = (80, 24), (160, 45)


async def test_what_was_left_is_restored() -> None:
    saved: list[UiState] = []
    app = centre(save=saved.append)
    async with app.run_test(size=LARGE, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"nav", "enter", "G", "space", "c", "s")
        await until(pilot, lambda: app.screen is not app.home)
        await pilot.press("j", "j", "enter", "2", "plus", "M", "at")
        await until(pilot, lambda: app.depth == 2 and app.drawing.theme == "mono-dark")
        app.leave(0)
    state = saved[-1]
    assert state.left_at == moment(0)
    again = centre(state=state)
    async with again.run_test(size=LARGE, notifications=True) as pilot:
        await settled(pilot)
        assert again.depth == 2
        await pilot.press("escape")
        await until(pilot, lambda: again.depth == 1)
        home = again.home
        assert (home.active, home.zoom, again.drawing.theme) == ("queue", "half", "mono-dark")
        assert (home.runs.model.filter, home.runs.model.sort) == ("nav", ("name",))
        assert home.runs.model.marks == app.home.runs.model.marks != set()
        assert again.compared == app.compared != []


async def test_the_run_that_was_looked_at_is_looked_at_again() -> None:
    state = UiState(views=(View(name="home", target="20260518_120000"),))
    app = centre(state=state)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await until(pilot, lambda: app.snapshot.run and app.snapshot.run.run_id == "20260518_120000")
        assert app.home.runs.model.current_id == "20260518_120000"


async def test_a_state_of_another_version_harms_nothing() -> None:
    state = UiState(
        views=(View(name="home", target="gone"), View(name="no such view")),
        tables={"runs": TableState(filter="no_such_column>3", sort=("-nothing",))},
        panes={"active": 99, "zoom": -4},
        theme="no such theme",
    )
    app = centre(state=state)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        assert (app.home.active, app.home.zoom, app.drawing.theme) == ("runs", "normal", "tower-dark")


async def test_what_ended_meanwhile_is_told_and_kept_in_the_activity_log() -> None:
    control = busy_control()
    control.reports[3] = fake_report(
        "20260518_120000", rows=mixed_rows(24), label="[/x] baseline", finished_at=moment(60)
    )
    control.backend_report.notices = [f"{moment(30)} the queue file was set aside", f"{moment(900)} old"]
    app = centre(control, state=UiState(left_at=moment(90)))
    async with app.run_test(size=LARGE, notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: app.activity.entries)
        await pilot.pause()
        text = "\n".join(text_of(app))
        assert "1 run ended, 1 notice while away: @" in text
        [toast] = app.screen.query("Toast")
        assert toast.outer_size.height <= 3
        await pilot.press("at")
        await until(pilot, lambda: app.depth == 2)
        text = "\n".join(text_of(app))
        assert "[/x] baseline completed, 24/24" in text
        assert "the queue file was set aside" in text
        assert "old" not in text
        assert [entry.who for entry in app.activity.entries] == ["backend", "backend"]


async def test_changes_are_saved_a_second_later() -> None:
    saved: list[UiState] = []
    app = centre(save=saved.append)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("2")
        assert not saved
        app.clock.advance(1.0)  # type: ignore[attr-defined]
        await until(pilot, lambda: saved)
    assert saved[0].panes["active"] == 1
