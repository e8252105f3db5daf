"""What a comparison could have seen, and how much more it would take: two-sided t tests."""

from __future__ import annotations

import math
from bisect import bisect_left

from engine.statistics.intervals import LEVEL, Estimate, quantile

POWER = 0.8
MOST_GROUPS = 10_000_000


def detectable_difference(found: Estimate) -> float | None:
    """The least true difference that so many episodes show at the 5 % level with a probability of 0.8.

    In the metric's unit; None where the spread is not known, or nothing spreads.
    """
    if not found.stderr or not found.df:
        return None
    from scipy.special import nctdtrinc

    return found.stderr * float(nctdtrinc(found.df, 1 - POWER, quantile(found.df)))


def more_episodes(found: Estimate, level: float = LEVEL) -> int | None:
    """About how many more episodes would show a difference as large as this one with a probability of 0.8.

    Takes the difference and its spread as they were found, and further groups as large as those so far. None
    where no number would: there is no difference, its spread is not known, or it takes over ten million
    groups.
    """
    groups = found.groups or found.n
    if not found.stderr or not found.df or found.mean == 0:
        return None
    signal, df = abs(found.mean) / found.stderr, found.df

    def power_with(count: int) -> float:
        return power_of(signal * math.sqrt(count / groups), df * (count - 1) / (groups - 1), level)

    more = range(1, MOST_GROUPS)
    enough = bisect_left(more, POWER, key=lambda extra: power_with(groups + extra))
    return math.ceil(more[enough] * found.n / groups) if enough < len(more) else None


def power_of(signal: float, df: float, level: float = LEVEL) -> float:
    """Probability that a t test with ``df`` degrees of freedom sees a true difference of ``signal`` standard
    errors, with the right sign."""
    from scipy.special import nctdtr

    missed = float(nctdtr(df, signal, quantile(df, level)))
    return 1.0 if math.isnan(missed) else 1 - missed  # scipy answers NaN where the chance is next to nothing
