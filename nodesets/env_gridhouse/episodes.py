"""Episodes: a pure function of (split, index). The run's seed has no say in which episode it is.

``train`` and ``val_seen`` share their houses, one episode of each a house; ``val_unseen`` has houses of its
own, five episodes each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from random import Random

from engine.components.seeds import derive

from .house import Cell, House, Thing, build_house, distances, neighbours

EPISODES_PER_SPLIT = 500
SEEN_HOUSES, UNSEEN_HOUSES = 500, 100
SPLITS = ("train", "val_seen", "val_unseen")
SHORTEST, LONGEST = 5, 24
"""Cells from start to goal."""

_TEMPLATES = (
    "go to the {thing}",
    "walk to the {thing}",
    "find the {thing}",
    "head to the {thing} and stop next to it",
    "stop next to the {thing}",
    "move to the {thing} and wait there",
)
_TEMPLATES_WITH_ROOM = (
    "go to the {thing} in the {room}",
    "walk to the {thing} in the {room}",
    "find the {thing} in the {room}",
    "in the {room}, stop next to the {thing}",
    "enter the {room} and go to the {thing}",
    "head into the {room}, then wait next to the {thing}",
)


@dataclass(frozen=True)
class Episode:
    """``start``: (x, y, heading), heading 0 north, 1 east, 2 south, 3 west. ``to_goal``: cells from each
    walkable
    cell to the nearest one beside the target, along the shortest path."""

    split: str
    index: int
    house_id: int
    house: House
    start: tuple[int, int, int]
    target: Thing
    instruction: str
    to_goal: dict[Cell, int]

    @property
    def episode_id(self) -> str:
        return f"{self.split}_{self.index:03d}"

    @property
    def scene_id(self) -> str:
        return f"house_{self.house_id:04d}"


def make_episode(split: str, index: int) -> Episode:
    """The episode; ValueError names the valid splits and indices."""
    if split not in SPLITS:
        raise ValueError(f"split {split!r} does not exist; the splits are {', '.join(SPLITS)}")
    if not 0 <= index < EPISODES_PER_SPLIT:
        raise ValueError(f"episode_index {index} is not in {split}, which has 0 to {EPISODES_PER_SPLIT - 1}")
    return draw_episode(split, index)


def draw_episode(split: str, index: int) -> Episode:
    """As ``make_episode``, for any index: beyond the split's own lie as many more as training wants."""
    house_id = index % SEEN_HOUSES if split != "val_unseen" else SEEN_HOUSES + index % UNSEEN_HOUSES
    house = _house(house_id)
    rng = Random(derive("gridhouse", "episode", split, index))
    while True:
        target = rng.choice(house.things)
        to_goal = distances(house.walkable, [c for c in neighbours(target.cell) if c in house.walkable])
        starts = [cell for cell in sorted(to_goal) if SHORTEST <= to_goal[cell] <= LONGEST]
        if starts:
            start = (*rng.choice(starts), rng.randrange(4))
            return Episode(
                split, index, house_id, house, start, target, _instruct(house, target, rng), to_goal
            )


@lru_cache(maxsize=None)
def _house(house_id: int) -> House:
    return build_house(derive("gridhouse", "house", house_id))


def _instruct(house: House, target: Thing, rng: Random) -> str:
    """A sentence that fits the target and nothing else in the house, mostly by colour, kind and room."""
    others = [thing for thing in house.things if thing is not target]
    full = f"{target.colour} {target.kind}"
    forms: list[tuple[str, bool]] = [(full, True)] * 4
    if all((thing.kind, thing.colour) != (target.kind, target.colour) for thing in others):
        forms.append((full, False))
    if all((thing.kind, thing.room) != (target.kind, target.room) for thing in others):
        forms.append((target.kind, True))
    thing, with_room = rng.choice(forms)
    template = rng.choice(_TEMPLATES_WITH_ROOM if with_room else _TEMPLATES)
    return template.format(thing=thing, room=target.room)
