"""Finished runs on disk whose logs keep images, without anything having run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
from PIL import Image

from engine.store.records import EpisodeRow, SummaryConfig
from engine.store.rundir import RunDir
from tests.fakes.finished_runs import fake_line, fake_row, make_run

CONFIG = SummaryConfig(graph_name="fake_follow", env_nodeset="env_fake", split="val")


def image(name: str, height: int = 48, width: int = 64) -> dict[str, Any]:
    """An image as a log names it."""
    return {"$asset": f"assets/{name}.png", "shape": [height, width, 3], "dtype": "uint8"}


def colour(step: int) -> tuple[int, int, int]:
    """Of the frame of a step."""
    return (20 * step) % 256, 100, 255 - (20 * step) % 256


def filmed_lines(steps: int, size: tuple[int, int] = (64, 48)) -> list[dict[str, Any]]:
    """An episode's log: each step a frame, two maps of the agent's, and what a loop passes on."""
    width, height = size
    lines = [fake_line(0, "reset", outputs={"rgb": image("reset", height, width), "instruction": "go"})]
    for step in range(steps):
        frame = image(f"f{step}", height, width)
        lines += [
            fake_line(step, "iter_in", node_type="iterIn", outputs={"rgb": frame}),
            fake_line(
                step,
                "agent",
                node_type="policy_fake__act",
                outputs={"action": "forward", "views": [image("map", 8, 8), image("map", 8, 8)]},
            ),
            fake_line(
                step, "step", inputs={"action": "forward"}, outputs={"rgb": frame, "reward": float(step)}
            ),
        ]
    return lines


def draw(folder: Path, steps: int, size: tuple[int, int] = (64, 48)) -> None:
    """The images that :func:`filmed_lines` names. ``folder``: the episode's."""
    assets = folder / "assets"
    assets.mkdir()
    Image.new("RGB", size, (0, 0, 0)).save(assets / "reset.png")
    Image.new("RGB", (8, 8), (255, 255, 0)).save(assets / "map.png")
    for step in range(steps):
        Image.new("RGB", size, colour(step)).save(assets / f"f{step}.png")


def filmed_run(
    root: Path,
    rows: Sequence[EpisodeRow] = (fake_row(0), fake_row(1)),
    steps: Mapping[int, int] | None = None,
    size: tuple[int, int] = (64, 48),
    **more: Any,
) -> RunDir:
    """``steps``: of each episode that has frames, by its index (default: 5 of episode 0)."""
    steps = {0: 5} if steps is None else steps
    logs = {index: filmed_lines(count, size) for index, count in steps.items()}
    run = make_run(root, rows=rows, logs=logs, **{"config": CONFIG, **more})
    for index, count in steps.items():
        draw(run.episodes / f"ep{index:04d}", count, size)
    return run


def noise(path: Path, size: tuple[int, int], seed: int) -> None:
    """The image that compresses worst."""
    pixels = numpy.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=numpy.uint8)
    Image.fromarray(pixels).save(path, compress_level=1)
