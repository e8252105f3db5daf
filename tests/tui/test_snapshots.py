"""Pictures of every view: small, large, and where no colour is wanted. After ``--snapshot-update``, look at
each that has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from engine.store.preferences import Preferences
from tests.fakes.clock import FakeClock
from tests.tui.scenes import LAST, LOOKS, SCENES, app_of
from tests.tui.screen import settled
from tui.app import ControlCentre
from tui.screens import VIEWS

SIZES = {"large": (160, 45)}
SMALL = (80, 24)


@pytest.mark.parametrize(("name", "look"), [(name, look) for name in SCENES for look in SCENES[name].looks])
def test_a_view(
    snap_compare: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, look: str
) -> None:
    scene = SCENES[name]
    for variable in ("NO_COLOR", "SSH_CONNECTION"):
        monkeypatch.delenv(variable, raising=False)
    if look == "no-colour":
        monkeypatch.setenv("NO_COLOR", "1")
    preferences = Preferences(theme="mono-dark", ascii="on") if look == "ascii" else Preferences(ascii="off")
    app = ControlCentre(scene.control(tmp_path), clock=FakeClock(), state=LAST, preferences=preferences)  # type: ignore[arg-type]

    async def look_at(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await scene.go(pilot)
        view = app_of(pilot).view
        assert view is not None
        assert view.view_name == scene.view

    assert snap_compare(app, run_before=look_at, terminal_size=SIZES.get(look, SMALL))


def test_no_view_is_left_out() -> None:
    looked_at = {(scene.view, look) for scene in SCENES.values() for look in scene.looks}
    assert {(view, look) for view in VIEWS for look in LOOKS} <= looked_at
