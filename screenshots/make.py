"""``python -m screenshots.make [FOLDER]``: a picture of each screen, as SVG and PNG, in two sizes, and of the
report, on a desk and on a phone.

The demo graph runs for it, really, in a root of its own, on a simulated machine with two cards.

Episode 5 breaks on purpose: its simulator fails at step 20.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from textual.pilot import Pilot

from engine.control.protocol import Control
from engine.control.reports import StartRequest
from engine.main import embedded
from engine.report.content import find_episode, read_comparison, read_episode, read_run
from engine.report.episode_page import episode_page
from engine.report.run_page import run_page
from screenshots.browser import BrowserError, Page, browser
from screenshots.picture import save_png
from tui.app import ControlCentre

SIZES = ((160, 45), (80, 24))
PAGES = ((1280, 1500, "light"), (390, 1500, "dark"))
GRAPH = "gridhouse_follow"
DEADLINE_SEC = 240.0
SIMULATION = """
ram_mb = 131072
[[gpus]]
total_mb = 24576
[[gpus]]
total_mb = 24576
[[loads]]
match = "gridhouse*"
vram_mb = 6000
vram_per_worker_mb = 300
[[loads]]
match = "policy_*"
vram_mb = 2200
[[foreign]]
gpu = 1
vram_mb = 9000
name = "someone's notebook"
"""
_STEP = "        simulator = self._stage.simulator\n        result"
_BREAKS = """        simulator = self._stage.simulator
        simulator.taken = getattr(simulator, "taken", 0) + 1
        if simulator.episode.index == 5 and simulator.taken > 20:
            raise RuntimeError("the renderer lost its window: GLFW error 65544")
        result"""


def make_root(folder: Path) -> Path:
    """A root whose simulator breaks."""
    root = folder / "evals"
    source = Path(__file__).parents[1] / "nodesets" / "env_gridhouse"
    copy = root / "workspace" / "nodesets" / "env_gridhouse"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("graphs", "__pycache__"))
    tools = copy / "tools.py"
    text = tools.read_text(encoding="utf-8")
    assert _STEP in text
    tools.write_text(text.replace(_STEP, _BREAKS, 1), encoding="utf-8")
    (folder / "machine.toml").write_text(SIMULATION, encoding="utf-8")
    return root


async def until(true: Callable[[], object], what: str) -> None:
    ends = time.monotonic() + DEADLINE_SEC
    while not true():
        if time.monotonic() > ends:
            raise TimeoutError(what)
        await asyncio.sleep(0.1)


async def take(control: Control, folder: Path) -> None:
    """The runs, and while the last of them goes on, the pictures."""

    def start(label: str, episodes: int, **more: Any) -> str:
        asked = StartRequest(
            graph_name=GRAPH,
            label=label,
            episode_count=episodes,
            worker_count=4,
            marginal_vram_mb=7200,
            **more,
        )
        return control.start(asked)

    first = start("follow", 24)
    await until(lambda: control.show(first).is_over, "the first run")
    second = start("follow, 40 steps", 24, step_budget=40)
    await until(lambda: control.show(second).is_over, "the second run")
    last = start("nightly", 400, seed=7)
    waits = start("exclusive", 50, exclusive_gpu=True, depends_on=[last])
    await until(lambda: control.show(last).summary.completed_count >= 20, "the third run")
    try:
        for size in SIZES:
            centre = ControlCentre(control)
            async with centre.run_test(size=size) as pilot:
                await _pictures(centre, pilot, folder, first, second, last)
    finally:
        for run_id in (waits, last):
            control.cancel(run_id)
        await until(lambda: control.show(last).is_over, "the end of the third run")
    await asyncio.to_thread(_pages, control, folder, first, second)


async def _pictures(
    centre: ControlCentre, pilot: Pilot[int], folder: Path, first: str, second: str, last: str
) -> None:
    async def picture(name: str) -> None:
        await pilot.pause(1.5)
        stem = f"{name}-{centre.size.width}x{centre.size.height}"
        svg = centre.export_screenshot(title="evaltower")
        (folder / f"{stem}.svg").write_text(svg, encoding="utf-8")
        drawn = save_png(centre, folder / f"{stem}.png")
        sys.stderr.write(f"{stem}{'' if drawn else ': SVG only, no font to draw a PNG with'}\n")

    await until(lambda: centre.snapshot.listed and centre.snapshot.resources is not None, "the first look")
    centre.show_run(last)
    await until(lambda: centre.snapshot.run is not None and centre.snapshot.run.loaded, "the run")
    await pilot.pause(8.0)  # for some history of the cards
    await picture("home")
    await pilot.press("3", "+", "+")
    await picture("workers")
    await pilot.press("_", "_", "6", "+", "+")
    await picture("gpus")
    await pilot.press("_", "_", "1")
    centre.open_log(first, "5")
    await picture("log")
    centre.back()
    centre.compared = [first, second]
    await pilot.press("C")
    await until(lambda: getattr(centre.view, "report", None) is not None, "the comparison")
    await picture("compare")
    centre.back()
    centre.show_run(first)
    await pilot.press("e")
    await pilot.pause(4.0)  # for the estimate
    await picture("launch")


def _pages(control: Control, folder: Path, first: str, second: str) -> None:
    """The report of the second run beside the first, and the page of the episode that breaks."""
    with tempfile.TemporaryDirectory() as temporary:
        report, episode = Path(temporary) / "report.html", Path(temporary) / "episode.html"
        pieces = run_page(read_run(control, second), read_comparison(control, second, first))
        report.write_bytes(b"".join(pieces))
        _, found = find_episode(control, first, "5")
        episode.write_bytes(b"".join(episode_page(read_episode(control, first, "5"), found)))
        try:
            with browser() as page:
                for width, height, scheme in PAGES:
                    page.open(report, width, height, scheme)
                    _save(page, folder / f"report-{width}x{height}.png")
                page.open(episode, 1280, 900)
                _save(page, folder / "episode-1280x900.png")
        except BrowserError as error:
            sys.stderr.write(f"no picture of the report: {error}\n")


def _save(page: Page, path: Path) -> None:
    with Image.open(BytesIO(page.picture())) as image:
        image.convert("RGB").quantize(256).save(path, optimize=True)
    sys.stderr.write(f"{path.stem}\n")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        os.environ["EVALTOWER_LEDGER"] = str(Path(temporary) / "ledger")
        os.environ["XDG_STATE_HOME"] = str(Path(temporary) / "state")
        root = make_root(Path(temporary))
        with embedded(root, str(Path(temporary) / "machine.toml")) as control:
            asyncio.run(take(control, folder))


if __name__ == "__main__":
    main()
