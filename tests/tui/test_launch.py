"""Launching from the screen, by keys alone: over a fake backend, and over a real one to the run's end."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from engine.cli.commands.demo import GRAPH
from engine.control.reports import ControlError, RefusedError, StartRequest, UntrustedHooksError
from engine.graph.model import Problem
from tests.fakes.clock import FakeClock
from tests.fakes.control import FakeControl, fake_report
from tests.fakes.finished_runs import make_run
from tests.fakes.live_backend import live
from tests.tui.offers import follow_graph, offering
from tests.tui.screen import centre, settled, text_of, until, until_seen
from tui.app import ControlCentre
from tui.screens.launch import LaunchView
from tui.state_file import UiState
from tui.widgets.menu import Item, matching


def shown(app: ControlCentre) -> LaunchView:
    view = app.view
    assert isinstance(view, LaunchView)
    return view


async def opened(pilot: Pilot[Any], *, knows: bool = True) -> LaunchView:
    """The form, once it knows what there is."""
    app = pilot.app
    assert isinstance(app, ControlCentre)
    await settled(pilot)
    await pilot.press("n")
    await until(pilot, lambda: isinstance(app.view, LaunchView) and app.view.inquiry.entries)
    if knows:
        await until(pilot, lambda: shown(app).form.offer is not None)
    return shown(app)


def remembering(**values: str) -> UiState:
    return UiState(forms={"": {"graph": "gridhouse_follow"}, "gridhouse_follow": values})


def go_to(view: LaunchView, key: str) -> None:
    view.form_view.go_to(key)
    assert view.form_view.current is not None
    assert view.form_view.current.key == key


async def test_a_newcomer_launches_with_what_footer_and_help_say() -> None:
    control = offering(FakeControl())
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "n new" in text_of(app)[-1]
        await pilot.press("question_mark", *"start a run", "enter")
        await until_seen(pilot, "choose one: enter shows them")
        assert "enter change" in text_of(app)[-1]
        assert "ctrl+g start" in text_of(app)[-1]
        await pilot.press("enter", *"follow")
        await until_seen(pilot, "A small policy.")
        await pilot.press("enter")
        await until_seen(pilot, "val_unseen  120 episodes")
        await pilot.press(*"jjjjj", "2", "enter", "G", "enter")
        await until(pilot, lambda: control.calls)
    [(verb, request)] = control.calls
    assert verb == "start"
    assert (request.graph_name, request.episode_count, request.selectors) == ("gridhouse_follow", 2, {})


async def test_the_estimate_follows_the_workers_once_nothing_more_is_typed() -> None:
    control, clock = offering(), FakeClock()
    app = centre(control, clock=clock, state=remembering())
    async with app.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot)
        assert not any("fits now" in line for line in text_of(app))
        clock.advance(0.4)
        await until_seen(pilot, "fits now on GPU 1; at most 8 workers would start now")
        control.refuses["estimate"] = ControlError("the backend is ending")
        go_to(view, "workers")
        await pilot.press("1", "6", "enter")
        clock.advance(0.4)
        await until_seen(pilot, "no estimate: the backend is ending")
        wrong = [Problem("settings", "evaltower.toml", told) for told in ("no 'a'", "no 'b'")]
        control.refuses["estimate"] = RefusedError(wrong)
        await pilot.press("8", "enter")
        clock.advance(0.4)
        await until_seen(pilot, "evaltower.toml: no 'b'")
        assert not any("␊" in line for line in text_of(app))


async def test_where_there_is_room_the_form_stands_beside_what_would_run() -> None:
    control = offering()
    app = centre(control, state=remembering())
    async with app.run_test(size=(160, 45)) as pilot:
        view = await opened(pilot)
        await until_seen(pilot, "policy_gridhouse__act")
        go_to(view, "workers")
        await pilot.press("8", "enter")
        await until_seen(pilot, "evaltower run gridhouse_follow -w 8")
        go_to(view, "panel.slip")
        await pilot.press("3", "enter")
        await until(pilot, lambda: not any("evaltower run" in line for line in text_of(app)))
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: not any("policy_gridhouse__act" in line for line in text_of(app)))


async def test_problems_are_shown_at_their_fields_and_the_cursor_goes_there() -> None:
    control = offering()
    control.refuses["start"] = RefusedError([Problem("bad-request", "label", "'last' already means a run")])
    app = centre(control, state=remembering())
    async with app.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot)
        go_to(view, "panel.slip")
        await pilot.press("3", "enter", "ctrl+g")
        assert view.form_view.current is not None
        assert view.form_view.current.key == "panel.slip"
        assert not control.calls
        await pilot.press("d", "ctrl+g")
        await until_seen(pilot, "already means a run")
        assert view.form_view.current is not None
        assert view.form_view.current.key == "label"
        assert app.activity.entries[-1].failed


async def test_what_is_typed_is_dropped_by_escape_and_values_are_chosen_by_the_arrows() -> None:
    app = centre(offering(), state=remembering(workers="4"))
    async with app.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot)
        go_to(view, "workers")
        await pilot.press("9", "9")
        assert view.form.workers == 99
        await pilot.press("escape")
        assert view.form.workers == 4
        go_to(view, "split")
        await pilot.press("right")
        assert view.form.values["split"] == "train"
        await pilot.press("left")
        assert not view.form.values["split"]
        await pilot.press("enter", *"seen", "enter")
        await until(pilot, lambda: view.form.values["split"] == "val_seen")


async def test_hooks_are_shown_and_asked_about_and_run_only_when_they_are_let() -> None:
    control = offering()
    refused = UntrustedHooksError(
        [Problem("untrusted-hook", "hook on 'GraphEnd'", "would run 'rm -r x' as you")]
    )
    control.refuses["start"] = refused
    app = centre(control, state=remembering())
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("ctrl+g")
        await until_seen(pilot, "would run 'rm -r x' as you")
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, LaunchView))
        assert [call[1].trust_hooks for call in control.calls] == [False]
        await pilot.press("ctrl+g")
        await until_seen(pilot, "would run 'rm -r x' as you")
        del control.refuses["start"]
        await pilot.press("y")
        await until(pilot, lambda: len(control.calls) == 3)
    assert control.calls[-1][1].trust_hooks


async def test_the_last_values_are_kept_and_a_started_run_is_gone_to() -> None:
    control = offering()
    kept: list[UiState] = []
    app = centre(control, state=remembering(workers="4"), save=kept.append)
    async with app.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot)
        go_to(view, "seed")
        await pilot.press("7", "enter", "ctrl+g")
        await until(pilot, lambda: app.view is app.home)
        control.reports.insert(0, fake_report("20260518_143100", "pending"))
        app.store.refetch()
        await until(pilot, lambda: app.store.selected == "20260518_143100")
        app.before_leaving(0)
    assert kept[-1].forms["gridhouse_follow"] == {"workers": "4", "seed": "7"}
    assert kept[-1].forms[""] == {"graph": "gridhouse_follow"}


async def test_what_was_typed_is_there_again_when_the_form_was_left() -> None:
    app = centre(offering(), state=remembering(workers="4"))
    async with app.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot)
        go_to(view, "workers")
        await pilot.press("8", "enter", "escape")
        await until(pilot, lambda: app.view is app.home)
        assert (await opened(pilot)).form.workers == 8


async def test_a_graph_that_cannot_be_asked_says_so_and_can_be_started_all_the_same() -> None:
    control = offering()
    control.refuses["introspect"] = ControlError("nodeset 'env_gridhouse' did not answer within 90 s")
    app = centre(control, state=remembering(panel__x="1"))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, knows=False)
        await until_seen(pilot, "cannot be asked: nodeset 'env_gridhouse' did not answer")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: control.calls)


async def test_nothing_is_started_read_only() -> None:
    control = offering()
    app = centre(control, read_only=True, state=remembering())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("n")
        assert app.view is app.home
        app.open_view("launch", "gridhouse_follow")
        await until(pilot, lambda: isinstance(app.view, LaunchView))
        await pilot.press("G", "enter", "ctrl+g")
        await pilot.pause()
    assert not control.calls


@pytest.fixture
def cloned(tmp_path: Path) -> FakeControl:
    """A backend with one run, whose folder is there."""
    run = make_run(tmp_path)
    control = offering(FakeControl(tmp_path))
    report = fake_report(run.run_id, total=4)
    report.path = str(run.path)
    control.reports = [report]
    return control


async def test_a_clone_begins_with_what_the_run_was_asked(cloned: FakeControl) -> None:
    app = centre(cloned)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.view, LaunchView))
        view = shown(app)
        assert view.crumbs() == f"new run like {cloned.reports[0].run_id}"
        assert view.form.base.graph is not None, "the saved graph is another by now"
        await until_seen(pilot, "as it ran: the saved one has changed since")
        go_to(view, "seed")
        await pilot.press("5", "enter", "ctrl+g")
        await until(pilot, lambda: cloned.calls)
    request = cloned.calls[0][1]
    assert (request.seed, request.graph) == (5, view.form.base.graph)


async def test_a_clone_of_a_run_without_its_spec_says_why_not(cloned: FakeControl) -> None:
    (Path(cloned.reports[0].path) / "spec.json").unlink()
    app = centre(cloned)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("e")
        await until(pilot, lambda: any("cannot be cloned" in toast.message for toast in app._notifications))
        assert app.view is app.home


async def test_what_the_form_would_start_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    app = centre(offering(), state=remembering(workers="4"))
    copied: list[str] = []
    monkeypatch.setattr(app, "copy_to_clipboard", copied.append)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("y", "r")
        await until(pilot, lambda: copied)
    command, call = copied[0].splitlines()
    assert command.startswith("evaltower run gridhouse_follow -w 4")
    words = shlex.split(call)
    assert "http://127.0.0.1:8765/api/eval/v2/start" in words
    request = msgspec.json.decode(words[-1], type=StartRequest)
    assert (request.graph_name, request.worker_count) == ("gridhouse_follow", 4)


@pytest.mark.slow
async def test_over_a_real_backend_two_episodes_are_launched_and_seen_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "root"
    (root / "workspace").mkdir(parents=True)
    with live(root) as control:
        app = ControlCentre(control)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: app.snapshot.listed)
            await pilot.press("n")
            await until(pilot, lambda: isinstance(app.view, LaunchView) and app.view.inquiry.entries)
            await pilot.press("enter", *"gridhouse_follow", "enter")
            await until(pilot, lambda: shown(app).form.offer is not None)
            await until_seen(pilot, "fits now, without a GPU")
            for key in ("episodes", "steps"):
                go_to(shown(app), key)
                await pilot.press("2", "enter")
            await pilot.press("ctrl+g")
            await until(pilot, lambda: app.view is app.home and app.snapshot.runs)
            await until_seen(pilot, "completed")
            await until_seen(pilot, "2/2")
        [run] = control.runs()
        assert (run.status, run.summary.completed_count) == ("completed", 2)
        assert control.graph("gridhouse_follow") == follow_graph()


def test_what_the_demo_runs_is_found_under_its_name() -> None:
    bot = Item("babyai_bot", "babyai_bot", note="It can follow, too.")
    demo = Item(GRAPH, GRAPH, note=follow_graph()["description"])
    assert matching([bot, demo], "demo") == [demo]
