"""95 % intervals of a mean: Wilson for rates, Student's t otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence

CONFIDENCE = 0.95


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean by exact summation (math.fsum): the order of ``values`` changes no bit."""
    return math.fsum(values) / len(values)


def is_rate(values: Sequence[float]) -> bool:
    """Whether every value is 0 or 1, so that the mean is a proportion."""
    return all(value in (0.0, 1.0) for value in values)


def standard_error(values: Sequence[float]) -> float | None:
    """Standard error of the mean, from the unbiased variance; None for fewer than two values."""
    n = len(values)
    if n < 2:
        return None
    centre = mean(values)
    variance = math.fsum((value - centre) ** 2 for value in values) / (n - 1)
    return math.sqrt(variance / n)


def wilson_interval(successes: int, n: int) -> tuple[float, float]:
    """Wilson score interval of a proportion (Wilson 1927, JASA 22:209-212), both ends in [0, 1]."""
    from scipy.stats import binomtest

    interval = binomtest(successes, n).proportion_ci(CONFIDENCE, method="wilson")
    return float(interval.low), float(interval.high)


def t_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Student's t interval of the mean; None for fewer than two values."""
    stderr = standard_error(values)
    if stderr is None:
        return None
    from scipy.stats import t

    half = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * stderr
    centre = mean(values)
    return centre - half, centre + half


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The interval of the kind that fits ``values``; None where there is none (no rate, fewer than two)."""
    if not values:
        return None
    if is_rate(values):
        return wilson_interval(sum(value == 1.0 for value in values), len(values))
    return t_interval(values)
