"""How far a mean is known when its values come in groups: the episodes of a scene, the repeats of an episode.

Values of a group resemble one another, so that n values say less than n independent ones would.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.statistics.rows import Place
from engine.statistics.sums import mean, scale_of

MIN_GROUPS = 5
"""Fewer scenes or tasks say too little of those that are not there: the interval is then one of further
episodes in the same ones."""

By = Literal["auto", "scene", "task", "none"]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which values belong together. by: what groups them. labels: one for each value."""

    by: str
    labels: Sequence[Hashable]

    @property
    def count(self) -> int:
        return len(set(self.labels))


@dataclass(frozen=True, slots=True)
class Spread:
    """Standard error of a mean, its degrees of freedom, and how many times its square exceeds that of as many
    independent values (at least 1)."""

    stderr: float
    df: float
    design_effect: float = 1.0


def group(places: Sequence[Place], by: By = "auto") -> Grouping | None:
    """How values of these places are grouped; None where each stands for itself.

    ``auto``: by scene where scenes are named, else by task, wherever those are at least ``MIN_GROUPS`` and
    have several episodes. Repeats of an episode belong together in any case.
    """
    for kind in ("scene", "task") if by == "auto" else (by,):
        found = _grouping(places, kind)
        if found and (by != "auto" or MIN_GROUPS <= found.count < len(places)):
            return found
    episodes = Grouping("episode", [place.episode for place in places])
    return episodes if episodes.count < len(places) else None


def spread(values: Sequence[float], grouping: Grouping | None = None) -> Spread | None:
    """The spread of the mean of these values; None below two values, or two groups.

    Grouped: the CR2 variance with the degrees of freedom of Bell & McCaffrey (2002, Survey Methodology
    28:169-181; Imbens & Kolesár 2016, Rev. Econ. Stat. 98:701-712), in closed form for a mean. It keeps its
    coverage for few groups of very unequal size. With s_g values in group g, e_g the sum of their deviations
    and f_g = 1 - s_g / n, the variance is sum(e_g**2 / f_g) / n**2.
    """
    alone = _independent(values)
    if grouping is None or alone is None:
        return alone
    if grouping.count < 2:
        return None
    n, centre, scale = len(values), mean(values), scale_of(values)
    deviations = [value * scale - centre * scale for value in values]
    variances, sizes, leverages = [], [], []
    for total, size in group_sums(deviations, grouping):
        rest = 1 - size / n
        variances.append(total * total / rest)
        sizes.append(size * size)
        leverages.append(size * size / rest)
    cross = math.fsum(leverages) ** 2 - math.fsum(u * u for u in leverages)
    stderr = math.sqrt(math.fsum(variances)) / n / scale
    effect = max(1.0, (stderr / alone.stderr) ** 2) if alone.stderr > 0 else 1.0
    return Spread(stderr, n * n / (sum(sizes) + cross / (n * n)), effect)


def group_sums(values: Sequence[float], grouping: Grouping | None) -> Iterator[tuple[float, int]]:
    """(exact sum, number) of the values of each group; of each value alone where there is no grouping."""
    if grouping is None:
        yield from ((value, 1) for value in values)
        return
    members: defaultdict[Hashable, list[float]] = defaultdict(list)
    for label, value in zip(grouping.labels, values, strict=True):
        members[label].append(value)
    for found in members.values():
        yield math.fsum(found), len(found)


def _independent(values: Sequence[float]) -> Spread | None:
    n = len(values)
    if n < 2:
        return None
    centre, scale = mean(values), scale_of(values)
    variance = math.fsum((value * scale - centre * scale) ** 2 for value in values) / (n - 1)
    return Spread(math.sqrt(variance / n) / scale, n - 1)


def _grouping(places: Sequence[Place], kind: str) -> Grouping | None:
    if kind == "task":
        return Grouping(kind, [place.task for place in places])
    if kind == "scene" and any(place.scene for place in places):
        # An episode without a scene among those with one stands for itself.
        return Grouping(kind, [place.scene or place.episode for place in places])
    return None
