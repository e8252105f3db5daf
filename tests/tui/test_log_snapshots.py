"""Pictures of the log browser and of the episodes. After ``--snapshot-update``, look at each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.fakes.clock import FakeClock
from tests.fakes.control import FakeControl, fake_report, mixed_rows
from tests.fakes.finished_runs import fake_row
from tests.tui.episode_folders import error_row, steps, write_run
from tests.tui.screen import settled, until
from tui.app import ControlCentre
from tui.preferences import Preferences
from tui.screens.log import LogScreen

SIZES = {"small": (80, 24), "large": (160, 45)}


def _app(root: Path, **options: Any) -> ControlCentre:
    rows = [fake_row(0, metrics={"success": 1.0}), error_row(1)]
    run = write_run(root, rows, {1: steps(16, error_at=14)})
    report = fake_report(run.run_id, rows=rows)
    control = FakeControl(root, [report])
    control.rows = {run.run_id: rows}
    return ControlCentre(control, clock=FakeClock(), **options)  # type: ignore[arg-type]


async def _open_log(pilot: Pilot[Any]) -> None:
    app = pilot.app
    assert isinstance(app, ControlCentre)
    await settled(pilot)
    app.open_log("20260518_120000", "ep0001")

    def drawn() -> bool:
        screen = app.screen
        if not isinstance(screen, LogScreen) or not screen.session.whole:
            return False
        frame = screen.frame
        is_drawn = bool(frame._pictures) and not frame._busy and frame._shown == frame._wanted()
        return is_drawn and not screen._reading and screen._wanted() is None

    await until(pilot, drawn)
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
def test_a_failed_episode(snap_compare: Any, tmp_path: Path, size: str) -> None:
    assert snap_compare(_app(tmp_path), run_before=_open_log, terminal_size=SIZES[size])


def test_a_failed_episode_without_colours(snap_compare: Any, tmp_path: Path) -> None:
    app = _app(tmp_path, preferences=Preferences(theme="mono-dark", ascii="on"))
    assert snap_compare(app, run_before=_open_log, terminal_size=SIZES["small"])


def test_episodes(snap_compare: Any) -> None:
    rows = mixed_rows(60)
    control = FakeControl(reports=[fake_report("20260518_120000", rows=rows, label="baseline")])
    control.rows = {"20260518_120000": rows}

    async def look(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press("4", "plus", "plus", "e", "e")

    app = ControlCentre(control, clock=FakeClock())  # type: ignore[arg-type]
    assert snap_compare(app, run_before=look, terminal_size=SIZES["large"])
