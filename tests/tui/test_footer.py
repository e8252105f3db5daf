"""The footer offers what a place can do, and nothing else."""

from __future__ import annotations

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.control import busy_control, busy_workers, fake_report
from tests.tui.offers import offering
from tests.tui.screen import centre, settled, text_of, until
from tui.screens.launch import LaunchView

NOWHERE = ("/ filter", "F faults", "enter open")


@pytest.mark.parametrize(
    ("keys", "offered"),
    [
        (("1",), NOWHERE),
        (("2",), ("/ filter", "enter open")),
        (("j", "j", "3", "h"), ("F faults", "enter open")),
        (("j", "j", "4"), NOWHERE),
        (("5",), ()),
        (("6",), ()),
        (("@",), ("/ filter", "F faults")),
    ],
)
async def test_a_pane_offers_what_it_has(keys: tuple[str, ...], offered: tuple[str, ...]) -> None:
    app = centre()
    async with app.run_test(size=(160, 45)) as pilot:
        await settled(pilot)
        await pilot.press(*("at" if key == "@" else key for key in keys))
        footer = text_of(app)[-1]
        assert tuple(each for each in NOWHERE if each in footer) == offered


async def test_a_form_is_neither_filtered_nor_has_it_faults() -> None:
    app = centre(offering())
    async with app.run_test(size=(160, 45), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.view, LaunchView))
        footer = text_of(app)[-1]
        assert "ctrl+g start" in footer
        assert not any(each in footer for each in NOWHERE)
        await pilot.press("F")
        await until(pilot, lambda: [toast.message for toast in app._notifications] != [])
        assert [toast.message for toast in app._notifications] == ["faults: nothing here can have failed"]


async def test_stalled_is_who_is_still_at_work() -> None:
    control = busy_control()
    clock = FakeClock()
    app = centre(control, clock=clock)
    async with app.run_test(size=(160, 45)) as pilot:
        await settled(pilot)
        assert "1 stalled 6:51" in text_of(app)[-1]
        control.reports[2] = fake_report("20260518_141000", "aborted", total=100, workers=busy_workers())
        clock.elapsed += 10
        await app.store.look()
        await until(pilot, lambda: "stalled" not in text_of(app)[-1])


async def test_at_80_columns_copying_and_leaving_are_still_there() -> None:
    app = centre()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for key in ("1", "2", "4"):
            await pilot.press(key)
            footer = text_of(app)[-1]
            assert "? help" in footer
            assert "y copy" in footer
            assert "q leave" in footer


@pytest.mark.parametrize(
    ("keys", "takes"),
    [
        (["y"], "j k move  enter choose  esc close"),
        ([":"], "type to find  enter choose  esc close"),
        (["x"], "y yes  any other no"),
        (["X"], "enter answer  esc no"),
    ],
)
async def test_over_a_dialog_the_footer_says_what_that_takes(keys: list[str], takes: str) -> None:
    app = centre()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*keys)
        await until(pilot, lambda: takes in text_of(app)[-1])
        assert "q leave" not in text_of(app)[-1]
        await pilot.press("escape")
        await until(pilot, lambda: "q leave" in text_of(app)[-1])


async def test_a_toast_does_not_cover_what_completes_a_command() -> None:
    app = centre()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        app.tell("something has happened")
        await pilot.press(":", *"the")
        await until(pilot, lambda: any("something has happened" in line for line in text_of(app)))
        lines = text_of(app)
        assert any("something has happened" in line for line in lines[:6])
        assert any("Draw in this theme." in line for line in lines)
