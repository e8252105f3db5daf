"""Two runs over the same episodes, as pairs of values: how much the second is higher, and is it chance?

Differences are right minus left. With a grouping, whole groups are what was drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.statistics.clusters import Grouping, Spread, group_sums, spread
from engine.statistics.intervals import (
    RESAMPLES,
    Estimate,
    Interval,
    Otherwise,
    describe,
    mean_estimate,
    quantile,
    resampling_batch,
)
from engine.statistics.kinds import is_rate
from engine.statistics.sums import scale_of

EXACT_BELOW = 25
"""Discordant pairs from which the asymptotic McNemar test is as good as the exact one."""
RESAMPLED_UP_TO = 1_000


def differences(left: Sequence[float], right: Sequence[float]) -> list[float]:
    """Right minus left, pair by pair."""
    return [b - a for a, b in zip(left, right, strict=True)]


def mean_difference(
    left: Sequence[float],
    right: Sequence[float],
    grouping: Grouping | None = None,
    otherwise: Otherwise = "t",
    seed: int = 0,
    metric: str = "",
    graded: bool | None = None,
) -> Estimate:
    """Mean difference of at least one pair, with interval: Bonett and Price's where both sides are rates.
    ``graded``: of the values of both.

    Student's t would give two runs that agree in every episode none.
    """
    found = differences(left, right)
    if not (is_rate(left, metric, graded) and is_rate(right, metric, graded)):
        return mean_estimate(found, grouping, otherwise, seed)
    spreading = spread(found, grouping)
    if grouping is None:
        stderr, interval = bonett_price(found.count(-1.0), found.count(1.0), len(found))
        return describe(found, Spread(stderr, len(found) - 1), interval, "bonett-price", None)
    if spreading is None:
        return describe(found, None, None, "bonett-price", grouping)
    effect = spreading.design_effect
    stderr, interval = bonett_price(
        found.count(-1.0) / effect, found.count(1.0) / effect, len(found) / effect, spreading.df
    )
    return describe(found, Spread(stderr, spreading.df, effect), interval, "bonett-price", grouping)


def bonett_price(lost: float, won: float, n: float, df: float = math.inf) -> tuple[float, Interval]:
    """(standard error, 95 % interval within [-1, 1]) of a difference of paired rates, (won - lost) / n.

    Bonett & Price 2012, J. Educ. Behav. Stat. 37:479-488: Wald's interval after one more pair of each
    discordant kind. For clustered pairs the counts are divided by the design effect, and ``df`` are its
    degrees of freedom.
    """
    up, down = (won + 1) / (n + 2), (lost + 1) / (n + 2)
    stderr = math.sqrt((up + down - (up - down) ** 2) / (n + 2))
    half = quantile(df) * stderr
    return stderr, (max(-1.0, up - down - half), min(1.0, up - down + half))


def mcnemar_test(lost: int, won: int) -> float:
    """Two-sided p-value of McNemar's test: exact (binomial) below 25 discordant pairs, else chi-squared.

    Without continuity correction, as Fagerland, Lydersen & Laake recommend (2013, BMC Med. Res. Methodol.
    13:91).
    """
    if lost + won < EXACT_BELOW:
        return _binomial_test(won, lost + won)
    from scipy.special import chdtrc

    return float(chdtrc(1, (won - lost) ** 2 / (won + lost)))


def sign_test(found: Sequence[float]) -> float:
    """Two-sided p-value of the exact sign test of differences; equal pairs say nothing."""
    higher = sum(value > 0 for value in found)
    return _binomial_test(higher, higher + sum(value < 0 for value in found))


def permutation_test(found: Sequence[float], grouping: Grouping | None = None, seed: int = 0) -> float:
    """Two-sided p-value of the mean difference under random swaps of left and right, of whole groups.

    By scipy: exact where there are few swaps, else over 9,999 random ones; over a thousand differences, by
    the normal distribution that those approach.
    """
    # Sorted, so that the draws of a seed do not depend on the order of the pairs.
    scale = scale_of(found)
    scaled = [value * scale for value in found]
    totals = sorted(total for total, _ in group_sums(scaled, grouping) if total != 0)
    if len(totals) < 2:
        return 1.0
    if len(totals) > RESAMPLED_UP_TO:
        return math.erfc(abs(math.fsum(totals)) / math.sqrt(2 * math.fsum(t * t for t in totals)))
    import numpy as np
    from scipy.stats import permutation_test as flip_signs

    result = flip_signs(
        (np.array(totals),),
        lambda sums, axis: sums.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=resampling_batch(len(totals)),
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def _binomial_test(hits: int, n: int) -> float:
    if n == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(hits, n).pvalue)
