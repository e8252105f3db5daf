"""Houses from a seed: rooms that tile a rectangle, doors that join them all, objects that block no way.

``random.Random`` rather than numpy's generators: its streams are the same under every Python and numpy
version.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from random import Random
from typing import Iterator, NamedTuple, Tuple

import numpy as np

from .palette import COLOURS, ROOMS, SPRITES

Cell = Tuple[int, int]
"""(x, y): x grows to the east, y to the south."""

WIDTH, HEIGHT = 17, 13
CELL_M = 0.5
WALL = 0
ROOM_NAMES = tuple(ROOMS)
DOOR = len(ROOM_NAMES) + 1

MIN_SIDE = 3
EXTRA_DOOR = 0.35
SAME_LOOK, SAME_KIND = 0.2, 0.55


class Rect(NamedTuple):
    """Cells with x0 <= x < x1 and y0 <= y < y1."""

    x0: int
    y0: int
    x1: int
    y1: int

    def cells(self) -> Iterator[Cell]:
        return ((x, y) for y in range(self.y0, self.y1) for x in range(self.x0, self.x1))


@dataclass(frozen=True)
class Thing:
    """An object; it fills its cell."""

    kind: str
    colour: str
    cell: Cell
    room: str

    @property
    def name(self) -> str:
        return f"the {self.colour} {self.kind}"


@dataclass(frozen=True)
class House:
    """``material``: (HEIGHT, WIDTH) uint8: WALL, 1 + index into ROOM_NAMES, or DOOR."""

    material: np.ndarray
    things: tuple[Thing, ...]
    walkable: set[Cell]

    def room_at(self, cell: Cell) -> str:
        """ "the kitchen", say; "a doorway" between two rooms."""
        code = int(self.material[cell[1], cell[0]])
        return "a doorway" if code == DOOR else f"the {ROOM_NAMES[code - 1]}"


def neighbours(cell: Cell) -> tuple[Cell, Cell, Cell, Cell]:
    """North, east, south, west: the order of headings 0 to 3."""
    x, y = cell
    return (x, y - 1), (x + 1, y), (x, y + 1), (x - 1, y)


def ahead_and_aside(cell: Cell, eye: Cell, heading: int) -> Cell:
    """(forward, right): where a cell lies for who stands at ``eye`` and looks along ``heading``."""
    east, south = cell[0] - eye[0], cell[1] - eye[1]
    return ((-south, east), (east, south), (south, -east), (-east, -south))[heading]


def distances(walkable: set[Cell], goals: list[Cell]) -> dict[Cell, int]:
    """Breadth-first distance in cells from each reachable cell to the nearest goal."""
    found = dict.fromkeys(goals, 0)
    queue = deque(goals)
    while queue:
        cell = queue.popleft()
        for nearby in neighbours(cell):
            if nearby in walkable and nearby not in found:
                found[nearby] = found[cell] + 1
                queue.append(nearby)
    return found


def build_house(seed: int) -> House:
    """The house of this seed: 4 to 6 rooms of different kinds, all of it connected."""
    rng = Random(seed)
    rects = _floor_plan(rng)
    names = rng.sample(ROOM_NAMES, len(rects))
    material = np.zeros((HEIGHT, WIDTH), np.uint8)
    for rect, name in zip(rects, names):
        material[rect.y0 : rect.y1, rect.x0 : rect.x1] = 1 + ROOM_NAMES.index(name)
    doors = _doors(material, len(rects), rng)
    for x, y in doors:
        material[y, x] = DOOR
    walkable = {(int(x), int(y)) for y, x in np.argwhere(material)}
    things: list[Thing] = []
    thresholds = {cell for door in doors for cell in neighbours(door)}
    for rect, name in zip(rects, names):
        _furnish(rect, name, things, walkable, thresholds, rng)
    return House(material, tuple(things), walkable)


def _floor_plan(rng: Random) -> list[Rect]:
    """Split the largest room until there are enough; a wall one cell thick stays between the halves."""
    rects = [Rect(1, 1, rng.randrange(13, WIDTH), rng.randrange(10, HEIGHT))]
    wanted = rng.randrange(4, 7)
    while len(rects) < wanted:
        large = [rect for rect in rects if max(rect.x1 - rect.x0, rect.y1 - rect.y0) > 2 * MIN_SIDE]
        if not large:
            break
        largest = max(large, key=lambda r: (r.x1 - r.x0) * (r.y1 - r.y0))
        rects.remove(largest)
        rects += _halves(largest, rng)
    return rects


def _halves(rect: Rect, rng: Random) -> list[Rect]:
    x0, y0, x1, y1 = rect
    if x1 - x0 > y1 - y0:
        cut = rng.randrange(x0 + MIN_SIDE, x1 - MIN_SIDE)
        return [Rect(x0, y0, cut, y1), Rect(cut + 1, y0, x1, y1)]
    cut = rng.randrange(y0 + MIN_SIDE, y1 - MIN_SIDE)
    return [Rect(x0, y0, x1, cut), Rect(x0, cut + 1, x1, y1)]


def _doors(material: np.ndarray, rooms: int, rng: Random) -> list[Cell]:
    """One door cell for each pair of rooms of a random spanning tree, and for some of the other pairs."""
    between: dict[tuple[int, int], list[Cell]] = {}
    for y in range(1, HEIGHT - 1):
        for x in range(1, WIDTH - 1):
            if material[y, x] == WALL:
                for one, other in (
                    (material[y, x - 1], material[y, x + 1]),
                    (material[y - 1, x], material[y + 1, x]),
                ):
                    if WALL not in (one, other):
                        pair = (min(int(one), int(other)), max(int(one), int(other)))
                        between.setdefault(pair, []).append((x, y))
    pairs = sorted(between)
    rng.shuffle(pairs)
    joined = {room: {room} for pair in pairs for room in pair}
    doors = []
    for one, other in pairs:
        apart = other not in joined[one]
        if apart or rng.random() < EXTRA_DOOR:
            doors.append(rng.choice(between[one, other]))
        if apart:
            together = joined[one] | joined[other]
            joined.update(dict.fromkeys(together, together))
    return doors


def _furnish(
    rect: Rect, room: str, things: list[Thing], walkable: set[Cell], thresholds: set[Cell], rng: Random
) -> None:
    """Add one to three objects to ``things`` and take their cells out of ``walkable``."""
    spots = [cell for cell in rect.cells() if cell not in thresholds]
    rng.shuffle(spots)
    wanted = rng.randrange(1, 4)
    for cell in spots:
        if wanted == 0:
            return
        rest = walkable - {cell}
        if len(distances(rest, [next(iter(rest))])) == len(rest):
            kind, colour = _look(room, things, rng)
            things.append(Thing(kind, colour, cell, room))
            walkable.discard(cell)
            wanted -= 1


def _look(room: str, things: list[Thing], rng: Random) -> tuple[str, str]:
    """A kind and colour new to this room, often those of an earlier object: twins test who listens."""
    here = {(thing.kind, thing.colour) for thing in things if thing.room == room}
    while True:
        kind, colour, roll = rng.choice(list(SPRITES)), rng.choice(list(COLOURS)), rng.random()
        if things and roll < SAME_KIND:
            model = rng.choice(things)
            kind = model.kind
            colour = model.colour if roll < SAME_LOOK else colour
        if (kind, colour) not in here:
            return kind, colour
