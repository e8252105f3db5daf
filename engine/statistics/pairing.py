"""Which episodes two runs share, and what bears on comparing them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from engine.figures import count
from engine.statistics.rows import Column, Episode, Place, Row, place_of
from engine.statistics.sums import mean

Determinism = Literal["exact", "seeded", "none"]
STRENGTHS: tuple[Determinism, ...] = ("exact", "seeded", "none")


@dataclass(frozen=True, slots=True)
class Side:
    """A run, as far as it is compared. rows: final ones. episodes: what its indices point into, in words
    (environment, data set, split). determinism: its weakest label. seed: the run's."""

    name: str
    rows: Sequence[Row]
    episodes: str = ""
    graph_hash: str = ""
    determinism: Determinism = "exact"
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Pairing:
    """shared: episode → its place in the left run, in order. notes: in words, what limits the comparison."""

    shared: dict[Episode, Place] = field(default_factory=dict)
    only_left: int = 0
    only_right: int = 0
    notes: list[str] = field(default_factory=list)


def pair(left: Side, right: Side) -> Pairing:
    """The episodes that both runs have a row of, whatever became of them; none where the lists differ."""
    mine, other = _places(left), _places(right)
    if left.episodes != right.episodes:
        note = f"{left.name} plays {left.episodes} and {right.name} {right.episodes}: no episode is shared"
        return Pairing({}, len(mine), len(other), [note])
    shared = {episode: place for episode, place in mine.items() if episode in other}
    only_left, only_right = len(mine) - len(shared), len(other) - len(shared)
    return Pairing(shared, only_left, only_right, _notes(left, right, len(shared), only_left, only_right))


def episode_means(found: Column) -> dict[Episode, float]:
    """A metric by episode: the mean over the repeats in which it was measured."""
    values: defaultdict[Episode, list[float]] = defaultdict(list)
    for place, value in zip(found.places, found.values, strict=True):
        values[place.episode].append(value)
    return {episode: mean(repeats) for episode, repeats in values.items()}


def _places(side: Side) -> dict[Episode, Place]:
    return {place.episode: place for place in sorted(map(place_of, side.rows))}


def _notes(left: Side, right: Side, shared: int, only_left: int, only_right: int) -> list[str]:
    notes = []
    if only_left or only_right:
        notes.append(
            f"compared: {count(shared, 'episode')}; only in {left.name}: {only_left}, only in {right.name}:"
            f" {only_right}"
        )
    if left.graph_hash != right.graph_hash:
        notes.append("the graphs differ")
    if left.seed != right.seed:
        notes.append(f"the seeds differ ({left.seed} and {right.seed}): an index may be another episode")
    if _most_repeats(left) != _most_repeats(right):
        notes.append(
            f"{left.name} has up to {count(_most_repeats(left), 'repeat')} of an episode and {right.name}"
            f" {_most_repeats(right)}: means over repeats are compared"
        )
    weakest = max(left.determinism, right.determinism, key=STRENGTHS.index)
    if weakest != STRENGTHS[0]:
        names = " and ".join(side.name for side in (left, right) if side.determinism == weakest)
        notes.append(f"determinism of {names} is {weakest}: played again, it may differ by itself")
    return notes


def _most_repeats(side: Side) -> int:
    return max((row.identity[2] for row in side.rows), default=1)
