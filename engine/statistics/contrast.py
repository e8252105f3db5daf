"""One metric of two runs over the episodes that have it in both: difference, tests, and what they settle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from engine.statistics.aggregate import How
from engine.statistics.clusters import group
from engine.statistics.intervals import LEVEL, Estimate
from engine.statistics.kinds import is_rate
from engine.statistics.paired import (
    differences,
    mcnemar_test,
    mean_difference,
    permutation_test,
    sign_test,
)
from engine.statistics.power import detectable_difference, more_episodes
from engine.statistics.rows import Place
from engine.statistics.sums import mean

Verdict = Literal["same", "higher", "lower", "unsettled"]


@dataclass(frozen=True, slots=True)
class Flip:
    """An episode that passed in one run and failed in the other; 1 is a pass."""

    episode_index: int
    selectors: str
    task: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class PValues:
    """Two-sided p-values. sign and mcnemar take every episode as independent, permutation the groups of the
    difference. mcnemar: None unless both sides are 0 or 1."""

    sign: float
    permutation: float
    mcnemar: float | None


@dataclass(frozen=True, slots=True)
class Contrast:
    """left, right: means over the pairs. difference: right minus left. higher + lower + equal: the pairs.

    test: the one that counts, whose p-value is ``p_value``: ``mcnemar`` where both sides are 0 or 1 and
    episodes are independent, else ``permutation``. p_adjusted: after Holm, over all that was tested. verdict,
    of right against left: ``same`` where all pairs are equal; ``higher`` or ``lower`` at an adjusted 5 %.
    detectable, more_episodes: see :mod:`engine.statistics.power`; the latter only where it is unsettled. None
    for a detectable difference that there cannot be, or that was there and not shown: with so few pairs the
    formula says nothing.
    """

    left: float
    right: float
    difference: Estimate
    higher: int
    lower: int
    equal: int
    tests: PValues
    test: Literal["mcnemar", "permutation"]
    p_value: float
    p_adjusted: float
    verdict: Verdict
    detectable: float | None
    more_episodes: int | None
    flipped: list[Flip]


def contrast(
    places: Sequence[Place],
    left: Sequence[float],
    right: Sequence[float],
    how: How,
    metric: str = "",
    graded: bool | None = None,
) -> Contrast:
    """Contrast at least one pair of values; ``places``, in the same order, say how they are grouped.
    ``graded``: of the values of both (:func:`engine.statistics.kinds.is_rate`)."""
    rates = is_rate(left, metric, graded) and is_rate(right, metric, graded)
    found = differences(left, right)
    grouping = group(places, how.by)
    lower, higher = sum(d < 0 for d in found), sum(d > 0 for d in found)
    difference = mean_difference(left, right, grouping, how.otherwise, how.seed, metric, graded)
    tests = PValues(
        sign=sign_test(found),
        permutation=permutation_test(found, grouping, how.seed),
        mcnemar=mcnemar_test(lower, higher) if rates else None,
    )
    exact = tests.mcnemar if grouping is None else None
    result = Contrast(
        left=mean(left),
        right=mean(right),
        difference=difference,
        higher=higher,
        lower=lower,
        equal=len(found) - higher - lower,
        tests=tests,
        test="permutation" if exact is None else "mcnemar",
        p_value=tests.permutation if exact is None else exact,
        p_adjusted=1.0,
        verdict="unsettled",
        detectable=_possible(detectable_difference(difference), rates),
        more_episodes=None,
        flipped=_flips(places, left, right),
    )
    return adjusted(result, result.p_value)


def adjusted(found: Contrast, p_adjusted: float) -> Contrast:
    """The same with its p-value after correction for other tests, and the verdict that follows."""
    if found.higher == found.lower == 0:
        return replace(found, p_adjusted=p_adjusted, verdict="same", more_episodes=None)
    if p_adjusted <= LEVEL:
        verdict: Verdict = "higher" if found.difference.mean > 0 else "lower"
        return replace(found, p_adjusted=p_adjusted, verdict=verdict, more_episodes=None)
    # The level that this one test has to reach for the adjusted value to reach LEVEL.
    more = more_episodes(found.difference, LEVEL * found.p_value / p_adjusted)
    shown = found.detectable is not None and found.detectable <= abs(found.difference.mean)
    return replace(
        found,
        p_adjusted=p_adjusted,
        verdict="unsettled",
        more_episodes=more,
        detectable=None if shown else found.detectable,
    )


def _possible(detectable: float | None, rates: bool) -> float | None:
    return None if rates and detectable is not None and detectable > 1 else detectable


def _flips(places: Sequence[Place], left: Sequence[float], right: Sequence[float]) -> list[Flip]:
    return [
        Flip(*place.episode, place.task, before, after)
        for place, before, after in zip(places, left, right, strict=True)
        if {before, after} == {0.0, 1.0}
    ]
