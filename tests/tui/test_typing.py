"""Keys that are typed at once, as a terminal that lags hands them over: each does what it would have done."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from textual import events

from engine.control.queue_reports import GraphEntry
from engine.store.records import EpisodeRow
from tests.fakes.control import busy_control
from tests.tui.offers import offering
from tests.tui.screen import DEADLINE_SEC, centre, settled, until
from tui import type_ahead
from tui.app import ControlCentre
from tui.screens.dialog import Dialog
from tui.screens.launch import LaunchView
from tui.widgets.confirm import Confirm

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


@pytest.mark.parametrize(
    "keys", [["x", "n", "n"], ["s", "enter", "enter"], ["y", "i", "i"], ["X", "escape", "escape"]]
)
async def test_a_key_more_than_a_dialog_takes_does_not_close_what_lies_below(keys: list[str]) -> None:
    app = centre()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await burst(app, keys, 99)
        await until(pilot, lambda: app.view is not None and not isinstance(app.screen, Dialog))
        assert app.screen_stack[1] is app.home


async def test_a_dialog_is_answered_once_and_only_on_top() -> None:
    app = centre()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        below, above = Confirm("a", [], "?"), Confirm("b", [], "?")
        first, second = app.spawn(app.ask(below)), app.spawn(app.ask(above))
        await until(pilot, lambda: app.screen is above)
        below.dismiss(True)
        assert app.screen is above
        assert not first.done()
        above.dismiss(True)
        above.dismiss(False)
        assert await second is True
        assert app.screen is below
        below.dismiss(False)
        assert await first is False
        assert app.screen is app.home
        app.pop_screen()
        assert app.screen is app.home


@pytest.mark.parametrize(
    ("keys", "copied"), [(["y", "i"], "20260518_142900"), (["y", "p", "j", "y", "i"], "20260518_142830")]
)
async def test_what_follows_y_is_the_menus_though_it_comes_at_once(
    keys: list[str], copied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = centre()
    texts: list[str] = []
    monkeypatch.setattr(app, "copy_to_clipboard", texts.append)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await burst(app, keys, 99)
        await until(pilot, lambda: len(texts) == keys.count("y"))
        assert (texts[-1], app.screen) == (copied, app.home)


async def test_keys_wait_for_what_is_read_before_a_dialog_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much of a run is left is read in a thread."""
    control, gate = busy_control(), threading.Event()
    app, episodes = centre(control), control.episodes

    def wait_and_read(run: str) -> list[EpisodeRow]:
        gate.wait(DEADLINE_SEC)
        return episodes(run)

    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        app.home.runs.go_to_id("20260518_113000")
        await settled(pilot)
        monkeypatch.setattr(control, "episodes", wait_and_read)
        await burst(app, ["R", "r"], 9)
        await pilot.pause()
        gate.set()
        await until(pilot, lambda: ("resume", "20260518_113000", False) in control.calls)


async def test_keys_do_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type_ahead, "PATIENCE_SEC", 0.0)
    app = centre()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        never = app.spawn(asyncio.Event().wait(), opens=True)
        await burst(app, ["j"], 9)
        await until(pilot, lambda: app.home.runs.model.at == 1)
        assert not never.done()


async def test_what_is_typed_for_the_graphs_waits_until_they_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    control, gate = offering(), threading.Event()
    app, graphs = centre(control), control.graphs

    def wait_and_list(sources: Any = None) -> list[GraphEntry]:
        gate.wait(DEADLINE_SEC)
        return graphs(sources)

    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        monkeypatch.setattr(control, "graphs", wait_and_list)
        await burst(app, ["n", "enter", *"follow", "enter"], 9)
        await pilot.pause()
        gate.set()
        await until(pilot, lambda: isinstance(app.view, LaunchView) and app.view.form.graph)
        assert isinstance(app.view, LaunchView)
        assert app.view.form.graph == "gridhouse_follow"
