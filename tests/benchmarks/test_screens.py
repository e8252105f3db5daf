"""What a key costs on the largest screens: ten thousand episodes, and a log of 300 MB.

``first paint``: from the rows to a painted screen. CPU: of the whole process, for one key, the median.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from engine.store.records import EpisodeRow
from tests.fakes.control import FakeControl, fake_report
from tests.fakes.finished_runs import fake_row
from tests.tui.log_lines import line
from tests.tui.screen import settled, text_of, until
from tui.app import ControlCentre
from tui.episode.places import place_at
from tui.panes.episodes import EpisodesPane
from tui.screens.log import LogScreen
from tui.viewer import Viewer

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

EPISODES = 10_000
MEGABYTES = 300
SIZE = (160, 45)
KEYS = 20
RUN = "20260518_141000"


def _rows() -> list[EpisodeRow]:
    names = ("success", "spl", "ndtw", "navigation_error", "path_length", "oracle_success")
    return [
        fake_row(
            index,
            metrics=dict.fromkeys(names, index * 7 % 100 / 100),
            instruction=f"walk to the {'red' if index % 3 else 'blue'} chair in room {index}",
            scene_id=f"house_{index % 90:04d}",
            seed=index * 7919 % 2**31,
        )
        for index in range(EPISODES)
    ]


async def _cpu_ms(keys: int, press: Callable[[], Awaitable[Any]]) -> float:
    """Of the process, for one of so many, the median."""
    spent = []
    for _ in range(keys):
        began = time.process_time()
        await press()
        spent.append(time.process_time() - began)
    return statistics.median(spent) * 1e3


async def test_ten_thousand_episodes(capsys: pytest.CaptureFixture[str]) -> None:
    rows = _rows()
    control = FakeControl(reports=[fake_report(RUN, rows=rows)])
    app = ControlCentre(control)  # type: ignore[arg-type]
    figures: dict[str, float] = {}
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        control.rows[RUN] = rows
        table = app.home.panes["episodes"]
        assert isinstance(table, EpisodesPane)
        app.store._looker._details.clear()
        await pilot.press("4", "plus", "plus")
        began = time.perf_counter()
        app.store.refetch()
        while not any("walk to the" in text for text in text_of(app)):
            await asyncio.sleep(0.001)
        figures["first paint of the rows, ms"] = (time.perf_counter() - began) * 1e3
        await until(pilot, lambda: app.snapshot.run is not None and app.snapshot.run.results is not None)
        figures["set_rows, ms"] = _timed(lambda: table.set_rows(list(rows)))
        for typed in ("r", "red", "success>0.5", "spl>0.5 red"):
            figures[f"filter {typed!r}, ms"] = _timed(lambda typed=typed: table.set_filter(typed))
        table.set_filter("")
        figures["sort by a metric, ms"] = _timed(lambda: table.model.sort_by("ndtw"))
        figures["page down, ms of CPU"] = await _cpu_ms(KEYS, lambda: _key(pilot, "pagedown"))
        figures["down, ms of CPU"] = await _cpu_ms(KEYS, lambda: _key(pilot, "j"))
    _tell(capsys, f"{EPISODES} episodes at {SIZE[0]}×{SIZE[1]}", figures)


async def test_a_large_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.jsonl"
    _write_log(path)
    figures: dict[str, float] = {}
    app = Viewer(place_at(path), FakeControl(tmp_path))  # type: ignore[arg-type]
    began = time.perf_counter()
    async with app.run_test(size=SIZE) as pilot:
        figures["the app is up, ms"] = (time.perf_counter() - began) * 1e3
        while not any("policy" in text for text in text_of(app)):
            await asyncio.sleep(0.001)
        figures["first rows, ms"] = (time.perf_counter() - began) * 1e3
        screen = app.screen
        assert isinstance(screen, LogScreen)
        await until(pilot, lambda: screen.session.whole)
        figures["all of it indexed, ms"] = (time.perf_counter() - began) * 1e3
        await pilot.press("g")
        figures["page down, ms of CPU"] = await _cpu_ms(KEYS, lambda: _key(pilot, "pagedown"))
        figures["next error, ms of CPU"] = await _cpu_ms(KEYS, lambda: _key(pilot, "e"))
        figures["filter node:env, ms"] = _timed(lambda: screen.rows_view.set_filter("node:env"))
        began = time.perf_counter()
        screen.rows_view.set_filter("no such door")
        await until(pilot, lambda: screen.session.found_all)
        figures["search, ms"] = (time.perf_counter() - began) * 1e3
    _tell(capsys, f"log.jsonl of {MEGABYTES} MB at {SIZE[0]}×{SIZE[1]}", figures)


async def _key(pilot: Pilot[Any], key: str) -> None:
    await pilot.press(key)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


def _write_log(path: Path) -> None:
    encoder = msgspec.json.Encoder()
    step = 0
    with open(path, "wb") as file:
        while file.tell() < MEGABYTES * 1_000_000:
            for node in ("policy", "env", "actions", "rewards"):
                error = "ValueError: no such door" if step % 1000 == 500 and node == "env" else None
                inputs = {"instruction": "go to the red door, then stop. " * 4}
                file.write(encoder.encode(line(step, node, inputs=inputs, error=error)) + b"\n")
            step += 1


def _tell(capsys: pytest.CaptureFixture[str], title: str, figures: dict[str, float]) -> None:
    with capsys.disabled():
        print(f"\n{title}")
        for name, value in figures.items():
            print(f"  {name:<32} {value:8.1f}")
