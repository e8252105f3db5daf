"""What a published figure is, and when ours agrees with it.

Each room of figures is a module beside this one, ``test_*.py`` or ``by_hand``, whose ``ROOM`` holds them.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

Z_LIMIT = 3.0


@dataclass(frozen=True)
class Measured:
    """Ours: the mean of ``n`` episodes with its standard error and 95 % interval, and what it took.

    Where the summary has none, as of very few episodes, the interval is None and the error counts as 0; what
    was played by hand does not say what it took.
    """

    mean: float
    stderr: float
    interval: Sequence[float] | None
    n: int
    cpu_sec: float | None


@dataclass(frozen=True)
class Rule:
    """What is asserted of ours. ``kind``: "agrees" (less than three standard errors of the difference),
    "equals", "at least", or "shown": nothing, and ``why`` says why not."""

    kind: str
    why: str = ""

    def holds(self, ours: Measured, published: Published) -> bool:
        if self.kind == "agrees":
            return abs(published.z(ours)) < Z_LIMIT
        if self.kind == "equals":
            return ours.mean == published.mean
        return self.kind == "shown" or ours.mean >= published.mean


AGREES, EQUALS, AT_LEAST = Rule("agrees"), Rule("equals"), Rule("at least")


def shown(why: str) -> Rule:
    return Rule("shown", why)


@dataclass(frozen=True)
class Published:
    """A figure somebody published, or an exact one: the mean, where it stands, and, where it is a mean of
    episodes, their standard deviation and number."""

    mean: float
    source: str
    sd: float = 0.0
    episodes: int = 1

    def z(self, ours: Measured) -> float:
        """How many standard errors of the difference ours lies above; infinite where neither varies.

        Episodes that all end alike tell no error of their own: they count with the published sd.
        """
        difference = ours.mean - self.mean
        error = math.hypot(ours.stderr or self.sd / math.sqrt(ours.n), self.sd / math.sqrt(self.episodes))
        return difference / error if error else math.copysign(math.inf, difference) if difference else 0.0


@dataclass(frozen=True)
class Figure:
    """``run`` is what follows ``evaltower run``, of ``n`` episodes; ``metric`` what of its summary is
    compared."""

    name: str
    run: tuple[str, ...]
    n: int
    metric: str
    published: Published
    rule: Rule


@dataclass(frozen=True)
class Room:
    """Figures under one heading; ``note`` (Markdown) says where they are from, and what is not comparable."""

    title: str
    note: str
    figures: Sequence[Figure]

    def __getitem__(self, name: str) -> Figure:
        return next(figure for figure in self.figures if figure.name == name)


def rooms() -> list[Room]:
    """Of every module of tests beside this one, by its name; last what is played by hand."""
    names = [*sorted(path.stem for path in Path(__file__).parent.glob("test_*.py")), "by_hand"]
    found = [getattr(importlib.import_module(f"{__package__}.{name}"), "ROOM", None) for name in names]
    return [room for room in found if room is not None]
