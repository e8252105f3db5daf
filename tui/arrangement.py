"""Which panes are seen, and where: by the room there is, the pane that has the keys, and ``+`` and ``_``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Zoom = Literal["normal", "half", "full"]
ZOOMS: tuple[Zoom, ...] = ("normal", "half", "full")

LIST_WIDTH, LIST_HEIGHT = 60, 15
"""Below this, a single list without tabs."""

GRID_WIDTH, GRID_HEIGHT = 120, 24
FRAME = 2
LEFT_SHARE, LEFT_LEAST, LEFT_MOST = 0.34, 40, 64


@dataclass(frozen=True)
class Box:
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Wish:
    """A pane, for its place. lines: that it has something for, None for any number."""

    name: str
    column: Literal["left", "right"]
    weight: int
    lines: int | None = None


@dataclass(frozen=True)
class Arrangement:
    """boxes: of the panes that are seen. framed: each has a frame with its title; otherwise ``tabs`` name
    them in a line of their own, if there is room for that."""

    boxes: Mapping[str, Box]
    framed: bool
    tabs: bool


def arrange(width: int, height: int, wishes: Sequence[Wish], active: str, zoom: Zoom) -> Arrangement:
    """``height``: without the screen's first and last line."""
    if width < GRID_WIDTH or height + FRAME < GRID_HEIGHT:
        tabs = width >= LIST_WIDTH and height + FRAME >= LIST_HEIGHT
        return Arrangement({active: Box(0, int(tabs), width, height - tabs)}, framed=False, tabs=tabs)
    if zoom == "full":
        return Arrangement({active: Box(0, 0, width, height)}, framed=True, tabs=False)
    left = min(LEFT_MOST, max(LEFT_LEAST, round(width * LEFT_SHARE)))
    columns = {side: [wish for wish in wishes if wish.column == side] for side in ("left", "right")}
    if not columns["left"] or not columns["right"]:
        left = width if columns["left"] else 0
    boxes: dict[str, Box] = {}
    for side, x, w in (("left", 0, left), ("right", left, width - left)):
        shown = columns[side]
        if zoom == "half" and any(wish.name == active for wish in shown):
            shown = [wish for wish in shown if wish.name == active]
        y = 0
        for wish, lines in zip(shown, _heights(shown, height), strict=True):
            boxes[wish.name] = Box(x, y, w, lines)
            y += lines
    return Arrangement(boxes, framed=True, tabs=False)


def _heights(wishes: Sequence[Wish], height: int) -> list[int]:
    """By weight; who needs less gives the rest to the others, and to the last who takes any number."""
    given = [0] * len(wishes)
    open_places = list(range(len(wishes)))
    left = height
    while open_places:
        total = sum(wishes[place].weight for place in open_places)
        shares = {place: left * wishes[place].weight // total for place in open_places}
        modest = [
            place
            for place in open_places
            if (lines := wishes[place].lines) is not None and lines + FRAME <= shares[place]
        ]
        for place in modest:
            given[place] = max(FRAME + 1, (wishes[place].lines or 0) + FRAME)
        if not modest:
            for place in open_places:
                given[place] = shares[place]
            break
        left -= sum(given[place] for place in modest)
        open_places = [place for place in open_places if place not in modest]
    spare = height - sum(given)
    if given:
        greedy = [place for place in range(len(wishes)) if wishes[place].lines is None]
        given[(greedy or [len(given) - 1])[-1]] += spare
    return given
