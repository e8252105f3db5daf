"""Means of exact sums (math.fsum): the order of the values changes no bit, and nothing overflows."""

from __future__ import annotations

import math
from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean of at least one finite value."""
    scale = scale_of(values)
    return math.fsum(value * scale for value in values) / len(values) / scale


def scale_of(values: Sequence[float]) -> float:
    """The power of two that brings the largest of the values to [0.5, 1), so that squares can be summed."""
    exponent = math.frexp(max(map(abs, values)))[1]
    return math.ldexp(1.0, min(1023, -exponent))
