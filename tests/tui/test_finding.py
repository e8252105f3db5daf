"""Help, palette and command line."""

from __future__ import annotations

from tests.fakes.control import busy_control
from tests.tui.screen import centre, settled, until, until_seen
from tui.finding import command_items, help_items
from tui.widgets.menu import Menu

SMALL = (80, 24)


async def test_help_is_about_this_place_and_does_what_is_chosen() -> None:
    control = busy_control()
    app = centre(control)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, Menu))
        await until_seen(pilot, "Runs and queue")
        await pilot.press(*"nothing new starts", "enter")
        await until(pilot, lambda: control.calls == [("pause",)])
        assert app.screen is app.home


async def test_help_tells_why_not_and_does_not_do_it() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        items = help_items(app.home, "never ran")
        assert [item.why_not for item in items if item.id == "runs.resume"] == ["the run is not over"]
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, Menu))
        await pilot.press(*"never ran", "enter")
        await pilot.pause()
        assert isinstance(app.screen, Menu)


async def test_every_action_that_can_be_reached_is_in_the_help() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        ids = {item.id for item in help_items(app.home, "")}
        assert {"runs.cancel", "global.filter", "global.shutdown", "global.theme"} <= ids


async def test_a_command_with_an_argument_is_completed_and_carried_out() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        assert [item.text for item in command_items(app.home, "theme col")] == ["theme colour-blind"]
        await pilot.press("colon")
        await until(pilot, lambda: isinstance(app.screen, Menu))
        await pilot.press(*"theme col", "enter")
        await until(pilot, lambda: app.drawing.theme == "colour-blind")
        assert app.theme == "colour-blind"


async def test_a_run_is_gone_to_by_its_label() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("colon", *"run baseline", "enter")
        await until(pilot, lambda: app.home.runs.model.current_id == "20260518_120000")


async def test_a_command_that_there_is_not_names_the_nearest() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("colon", *"pausse", "enter")
        await until_seen(pilot, "mean 'pause'")


async def test_colours_go_and_come_back() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("M")
        await until(pilot, lambda: app.drawing.theme == "mono-dark")
        await pilot.press("M")
        await until(pilot, lambda: app.drawing.theme == "tower-dark")


async def test_low_bandwidth_slows_the_store() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("b")
        await until(pilot, lambda: app.store.slow)
        assert app.drawing.slow


async def test_ending_the_backend_takes_a_typed_word() -> None:
    control = busy_control()
    app = centre(control)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("colon", *"shutdown", "enter")
        await until_seen(pilot, "type shutdown")
        await pilot.press("y", "enter")
        await until(pilot, lambda: app.screen is app.home)
        assert control.calls == []
        await pilot.press("colon", *"shutdown", "enter")
        await until_seen(pilot, "type shutdown")
        await pilot.press(*"shutdown", "enter")
        await until(pilot, lambda: app.return_code == 0)
    assert control.calls == [("stop_backend", False)]
