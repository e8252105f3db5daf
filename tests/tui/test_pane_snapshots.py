"""Pictures of the panes, the comparison and the servers. After ``--snapshot-update``, look at each."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from engine.control.comparing import compare_metrics
from engine.control.queue_reports import ForeignProcess
from tests.fakes.clock import START, FakeClock
from tests.fakes.control import FakeControl, busy_control, fake_report
from tests.fakes.finished_runs import fake_row, make_run
from tests.tui.screen import settled, text_of, until
from tests.tui.test_metrics import repeated, results
from tests.tui.test_servers import control as serving
from tui.app import ControlCentre
from tui.preferences import Preferences
from tui.screens.compare import CompareView

SIZES = {"small": (80, 24), "large": (160, 45)}
BASELINE = "20260518_120000"


def app_over(control: FakeControl, **options: Any) -> ControlCentre:
    return ControlCentre(control, **({"clock": FakeClock()} | options))  # type: ignore[arg-type]


async def ten_minutes(app: ControlCentre, control: FakeControl) -> None:
    """Of a machine whose cards go up and down."""
    gpus = control.resources_report.gpus
    gpus[0].foreign = [ForeignProcess(pid=4242, name="python train.py", mb=40000.0)]
    clock = app.clock
    assert isinstance(clock, FakeClock)
    for turn in range(60):
        for place, gpu in enumerate(gpus):
            wave = math.sin(turn / 5 + place)
            gpu.utilization, gpu.power_w = 50 + 45 * wave, 300 + 200 * wave
        clock.elapsed += 10
        await app.store.look()


def picture(snap_compare: Any, size: str, *keys: str, lived: bool = False, **options: Any) -> bool:
    control = busy_control()
    control.rows[BASELINE] = repeated()
    control.reports[3] = fake_report(BASELINE, rows=repeated(), label="baseline")
    app = app_over(control, **options)

    async def look(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        if lived:
            await ten_minutes(app, control)
        if BASELINE in keys:
            control.answers["results"] = results(repeated())
        for key in keys:
            if key == BASELINE:
                app.home.runs.go_to_id(BASELINE)
                await until(
                    pilot, lambda: app.snapshot.run is not None and app.snapshot.run.results is not None
                )
            else:
                await pilot.press(key)
        await settled(pilot)

    return bool(snap_compare(app, run_before=look, terminal_size=SIZES[size]))


@pytest.mark.parametrize("size", SIZES)
def test_lanes(snap_compare: Any, size: str) -> None:
    assert picture(snap_compare, size, "j", "j", "3", "h", "j")


def test_lanes_without_colours(snap_compare: Any) -> None:
    preferences = Preferences(theme="mono-dark", ascii="on")
    assert picture(snap_compare, "small", "j", "j", "3", "z", "h", preferences=preferences)


def test_gpus(snap_compare: Any) -> None:
    assert picture(snap_compare, "small", "6", lived=True)


def test_gpus_alone(snap_compare: Any) -> None:
    assert picture(snap_compare, "large", "6", "plus", "plus", lived=True)


@pytest.mark.parametrize("size", SIZES)
def test_metrics(snap_compare: Any, size: str) -> None:
    assert picture(snap_compare, size, BASELINE, "5", "plus")


def compared(root: Path, count: int, **options: Any) -> tuple[ControlCentre, list[str]]:
    runs = []
    for run in range(count):
        rows = [
            fake_row(
                index,
                metrics={
                    "success": float((index * 7 + run) % 5 > 1 - run),
                    "spl": (index * 3 + run) % 10 / 10,
                },
                selectors={"task_id": f"kitchen {index % 3}"},
            )
            for index in range(40 - run)
        ]
        at = START + timedelta(minutes=run)
        runs.append(make_run(root, rows=rows, label=f"nav{'ABCD'[run]}", now=at))
    control = busy_control()
    control.answers["compare"] = compare_metrics(runs)
    return app_over(control, **options), [run.run_id for run in runs]


@pytest.mark.parametrize(("size", "count"), [("small", 2), ("large", 4)])
def test_a_comparison(snap_compare: Any, tmp_path: Path, size: str, count: int) -> None:
    app, ids = compared(tmp_path, count)

    async def look(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        app.compared = ids
        await pilot.press("C")
        await until(pilot, lambda: isinstance(app.view, CompareView) and app.view.report is not None)
        await pilot.press("j", "tab")

    assert snap_compare(app, run_before=look, terminal_size=SIZES[size])


def test_servers(snap_compare: Any) -> None:
    app = app_over(serving())

    async def look(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        app.open_view("servers")
        await until(pilot, lambda: app.store._looker.watch_servers)
        await app.store.look()
        await pilot.press("j")

    assert snap_compare(app, run_before=look, terminal_size=SIZES["large"])


async def test_every_pane_can_be_read_where_no_colour_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_over(busy_control())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("j", "j")
        told = {"3": "? 14:23:09", "5": "success is withheld", "6": "foreign 47.5G"}
        for key, text in told.items():
            await pilot.press(key)
            await until(pilot, lambda text=text: any(text in line for line in text_of(app)))  # type: ignore[misc]
