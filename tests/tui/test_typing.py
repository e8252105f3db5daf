"""Keys that are typed at once, as a terminal that lags hands them over: each does what it would have done."""

from __future__ import annotations

import asyncio

import pytest
from textual import events

from tests.fakes.control import busy_control
from tests.tui.screen import centre, settled, until
from tui.app import ControlCentre

CHARACTERS = {"slash": "/", "colon": ":", "enter": "\r", "space": " "}


async def burst(app: ControlCentre, keys: list[str], apart: int) -> None:
    """``apart``: the loop goes round once after so many of them."""
    for place, key in enumerate(keys):
        app.post_message(events.Key(key, CHARACTERS.get(key, key if len(key) == 1 else None)))
        if place == apart:
            await asyncio.sleep(0)


@pytest.mark.parametrize("apart", [0, 1, 9])
@pytest.mark.parametrize(
    ("keys", "filtered", "at"),
    [
        (["slash", *"zzz", "enter"], "zzz", 0),
        (["slash", *"navx", "backspace", "enter", "j"], "nav", 1),
        (["slash", *"nav", "enter", "slash", "A", "enter"], "navA", 0),
        (["slash", *"nav", "escape", "j", "j"], "", 2),
        (["colon", *"run", "space", *"navB", "enter"], "", 1),
    ],
)
async def test_what_is_typed_at_once_is_carried_out_in_its_order(
    keys: list[str], filtered: str, at: int, apart: int
) -> None:
    app = centre()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await burst(app, keys, apart)
        runs = app.home.runs
        await until(pilot, lambda: (runs.filter_text, runs.model.at) == (filtered, at))
        await until(pilot, lambda: app.screen is app.home and not app.home.prompt.display)
        assert (runs.filter_text, runs.model.at) == (filtered, at)


async def test_an_enter_typed_before_the_palette_is_there_chooses_from_it() -> None:
    control = busy_control()
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await burst(app, ["ctrl+p", *"nothing", "space", *"new", "enter", "j"], 99)
        await until(pilot, lambda: control.calls == [("pause",)] and app.home.runs.model.at == 1)
