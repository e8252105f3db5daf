"""An episode that is played by hand, over a fake backend that answers as it is told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from engine.control.queue_reports import PlayReport
from engine.control.reports import ConflictError
from tests.fakes.clock import FakeClock
from tests.fakes.control import FakeControl, fake_report
from tests.tui.log_lines import line, write_log
from tests.tui.offers import offering
from tests.tui.screen import centre, settled, text_of, until, until_seen
from tui.app import ControlCentre
from tui.screens.launch import PlayLaunchView
from tui.screens.play import PlayView

RUN = "20260518_143100"


def playing(tmp_path: Path) -> FakeControl:
    """A play whose episode has begun."""
    control = offering(FakeControl(tmp_path, [fake_report(RUN, "running", total=1)]))
    folder = tmp_path / "outputs" / "eval_runs" / RUN / "episodes" / "ep0007"
    folder.mkdir(parents=True)
    write_log(folder / "log.jsonl", [line(0, "reset"), line(0, "policy")])
    control.queue_report.playing = RUN
    control.answers["play_state"] = waits(0)
    return control


def waits(step: int, **more: Any) -> PlayReport:
    return PlayReport(
        **(
            {
                "run_id": RUN,
                "status": "running",
                "waiting": True,
                "step": step,
                "budget": 60,
                "node": "policy",
            }
            | more
        )
    )


async def opened(pilot: Pilot[Any]) -> PlayView:
    app = pilot.app
    assert isinstance(app, ControlCentre)
    await settled(pilot)
    await pilot.press("colon", *"play", "enter")
    await until(pilot, lambda: isinstance(app.view, PlayView))
    await until_seen(pilot, "before step 0 of 60, at policy")
    assert isinstance(app.view, PlayView)
    return app.view


async def test_it_steps_goes_on_and_ends_as_its_keys_say(tmp_path: Path) -> None:
    control, clock = playing(tmp_path), FakeClock()
    app = centre(control, clock=clock)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "n step" in text_of(app)[-1]
        await until_seen(pilot, "reset")
        control.answers["play_step"] = waits(1)
        await pilot.press("n")
        await until_seen(pilot, "before step 1 of 60")
        control.answers["play_step"] = waits(11)
        await pilot.press("N")
        await until_seen(pilot, "before step 11 of 60")
        control.answers["play_run"] = waits(11, waiting=False)
        await pilot.press("c")
        await until_seen(pilot, "goes on in step 11 of 60")
        await pilot.press("n")
        assert not app._notifications
        control.answers["play_stop"] = waits(11, status="cancelled", waiting=False)
        await pilot.press("x")
        await until_seen(pilot, "over: cancelled")
        await pilot.press("x", "n")
        await pilot.pause()
    assert control.calls == [
        ("play_step", RUN, 1),
        ("play_step", RUN, 10),
        ("play_run", RUN),
        ("play_stop", RUN),
    ]


async def test_what_it_does_by_itself_is_looked_at_twice_a_second_until_it_is_over(tmp_path: Path) -> None:
    control, clock = playing(tmp_path), FakeClock()
    app = centre(control, clock=clock)
    async with app.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot)
        control.answers["play_state"] = waits(5, waiting=False, node="")
        clock.advance(0.6)
        await until_seen(pilot, "is starting: its environment is set up")
        control.answers["play_state"] = waits(60, status="completed", waiting=False)
        clock.advance(0.6)
        await until_seen(pilot, "over: completed")
        assert "live run" not in view.facts()


async def test_what_the_backend_refuses_is_told_and_it_stands_as_before(tmp_path: Path) -> None:
    control = playing(tmp_path)
    control.refuses["play_step"] = ConflictError("it does not wait to be told")
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("n")
        await until(pilot, lambda: app._notifications)
        await until_seen(pilot, "before step 0 of 60")


async def test_a_step_that_is_asked_for_while_one_is_taken_follows_it(tmp_path: Path) -> None:
    control, clock = playing(tmp_path), FakeClock()
    app = centre(control, clock=clock)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        control.answers["play_step"] = waits(1, waiting=False)
        await pilot.press("space")
        await until_seen(pilot, "goes on in step 1 of 60")
        await pilot.press("space", "space", "N", "space")
        assert [call for call in control.calls if call[0] == "play_step"] == [("play_step", RUN, 1)]
        control.answers["play_step"] = control.answers["play_state"] = waits(1)
        clock.advance(0.6)
        await until(pilot, lambda: len(control.calls) == 2)
        clock.advance(0.6)
        await until_seen(pilot, "before step 1 of 60")
        assert not app._notifications
    assert control.calls == [("play_step", RUN, 1)] * 2


async def test_before_the_first_firing_nothing_is_said_to_be_read(tmp_path: Path) -> None:
    control = playing(tmp_path)
    shutil.rmtree(tmp_path / "outputs")
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await until_seen(pilot, "no node has fired yet")
        assert not any("reading" in row for row in text_of(app))


async def test_a_play_begins_with_a_form_for_one_episode(tmp_path: Path) -> None:
    control = offering(FakeControl(tmp_path))
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("colon", *"play", "enter")
        await until(pilot, lambda: isinstance(app.view, PlayLaunchView) and app.view.inquiry.entries)
        assert not any("Workers" in row for row in text_of(app))
        await pilot.press("enter", *"gridhouse", "enter")
        await until_seen(pilot, "val_unseen  120 episodes")
        await pilot.press("G", "k", "k", "k", "k", "k", "7", "enter")
        await until_seen(pilot, "Episode      7")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: isinstance(app.view, PlayView))
    [(verb, request)] = control.calls
    assert (verb, request.graph_name, request.episode_indices) == ("play", "gridhouse_follow", [7])
