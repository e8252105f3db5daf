"""Pictures of the forms and dialogs. Whoever changes one looks at it: ``--snapshot-update``."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from engine.control.reports import CheckReport, RefusedError
from engine.graph.model import Problem
from tests.fakes.clock import FakeClock
from tests.tui.offers import offering
from tests.tui.screen import centre, settled, until, until_seen
from tui.app import ControlCentre
from tui.screens.launch import LaunchView
from tui.state_file import UiState

SIZES = {"small": (80, 24), "large": (160, 45)}
LAST = UiState(forms={"": {"graph": "gridhouse_follow"}, "gridhouse_follow": {"workers": "4"}})


def app(theme: str = "") -> ControlCentre:
    control = offering()
    wrong = Problem("wire-type", "node 'agent'", "takes TEXT on 'rgb'", "wire an IMAGE")
    old = Problem("old-name", "file", "maxIterations is the old name of step_budget", "rename it", "warning")
    control.answers["validate"] = CheckReport(graph="g", path="g", problems=[wrong, old])
    control.refuses["start"] = RefusedError(
        [Problem("bad-request", "label", "'last' already means a run", "choose another"), wrong]
    )
    return centre(control, state=UiState(forms=LAST.forms, theme=theme), clock=FakeClock())


async def form(pilot: Pilot[Any]) -> None:
    """Filled in, with the cursor on a choice and the estimate there."""
    centre = pilot.app
    assert isinstance(centre, ControlCentre)
    await settled(pilot)
    await pilot.press("n")
    await until(pilot, lambda: isinstance(centre.view, LaunchView) and centre.view.form.offer is not None)
    await until(pilot, lambda: isinstance(centre.view, LaunchView) and centre.view.form.scored is not None)
    assert isinstance(centre.clock, FakeClock)
    centre.clock.advance(0.4)
    await until_seen(pilot, "fits now on GPU 1")
    await pilot.press("j", "j")
    await until_seen(pilot, "which episodes there are")


async def refused(pilot: Pilot[Any]) -> None:
    await form(pilot)
    await pilot.press("ctrl+g")
    await until_seen(pilot, "node 'agent': takes TEXT")


async def cancel(pilot: Pilot[Any]) -> None:
    centre = pilot.app
    assert isinstance(centre, ControlCentre)
    await settled(pilot)
    await pilot.press("asterisk", "x")
    await until_seen(pilot, "cancel 3 runs")


async def graph(pilot: Pilot[Any]) -> None:
    centre = pilot.app
    assert isinstance(centre, ControlCentre)
    await settled(pilot)
    centre.open_view("graph", "graph:gridhouse_follow")
    await until_seen(pilot, "12 nodes, 1 error, 1 warning")
    await pilot.press("j", "j")
    await until_seen(pilot, "takes TEXT on 'rgb'")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shown", [form, refused, graph])
def test_a_view(snap_compare: Any, shown: Any, size: str) -> None:
    assert snap_compare(app(), terminal_size=SIZES[size], run_before=shown)


def test_a_dialog(snap_compare: Any) -> None:
    assert snap_compare(app(), terminal_size=SIZES["small"], run_before=cancel)


def test_a_view_without_colours(snap_compare: Any) -> None:
    assert snap_compare(app("mono-dark"), terminal_size=SIZES["small"], run_before=form)
