"""Where the rows, the firing and its images are, by the room there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tui.arrangement import GRID_WIDTH, LIST_HEIGHT, LIST_WIDTH, Box

Part = Literal["rows", "record", "frame"]

FRAME_COLUMNS, FRAME_LEAST_WIDTH = 28, 74
LEAST_ROWS = 5


def log_layout(
    width: int, height: int, active: Part, *, frame: bool, zoomed: bool = False, enlarged: bool = False
) -> Mapping[Part, Box]:
    """The boxes of what is seen, frames and rules included.

    frame: there are images. zoomed: the part with the keys has all the room. enlarged: the images have it.
    """
    whole = Box(0, 0, width, height)
    if enlarged and frame:
        return {"frame": whole}
    if zoomed or width < LIST_WIDTH or height < LIST_HEIGHT - 4:
        return {active: whole}
    if width >= GRID_WIDTH:
        return _beside(width, height, frame)
    return _below(width, height, frame)


def _beside(width: int, height: int, frame: bool) -> Mapping[Part, Box]:
    left = max(60, width * 52 // 100)
    boxes: dict[Part, Box] = {"rows": Box(0, 0, left, height)}
    pictured = min(24, height * 45 // 100) if frame and height >= 16 else 0
    if pictured:
        boxes["frame"] = Box(left, 0, width - left, pictured)
    boxes["record"] = Box(left, pictured, width - left, height - pictured)
    return boxes


def _below(width: int, height: int, frame: bool) -> Mapping[Part, Box]:
    upper = max(LEAST_ROWS, height * 45 // 100)
    boxes: dict[Part, Box] = {"rows": Box(0, 0, width, upper)}
    columns = FRAME_COLUMNS if frame and width >= FRAME_LEAST_WIDTH else 0
    boxes["record"] = Box(0, upper, width - columns, height - upper)
    if columns:
        boxes["frame"] = Box(width - columns, upper, columns, height - upper)
    return boxes
