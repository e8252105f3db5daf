"""What a metric is: whether it can only be within [0, 1], or takes other values too.

A score says itself whether it is nothing but a pass or a fail. Of the graph's own metrics a row has numbers
alone, and the first few of a navigation error may well be 0: there the name tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_UNIT = frozenset(
    {"success", "succeeded", "solved", "passed", "pass", "reached", "found", "correct", "accuracy", "rate"}
    | {"spl", "ndtw", "sdtw", "cls", "collided", "terminated", "truncated", "done", "won", "iou", "share"}
)
_OTHER = frozenset(
    {"error", "errors", "length", "distance", "cost", "steps", "actions", "turns", "calls", "tokens"}
    | {"collisions", "count", "number", "time", "duration", "sec", "seconds", "ms", "loss", "latency", "span"}
    | {"usd", "eur", "dollars", "money", "price", "spent", "bytes", "mb", "requests", "retries", "messages"}
)
_WORD = re.compile(r"[^a-z0-9]+")


def is_bounded(metric: str) -> bool | None:
    """Whether its values are within [0, 1]; None where the name does not say."""
    words = set(_WORD.split(metric.lower()))
    if words & _UNIT:
        return True
    return False if words & _OTHER else None


def is_rate(values: Sequence[float], metric: str = "", graded: bool | None = None) -> bool:
    """Whether the mean is a proportion: every value is 0 or 1, and of no metric that takes others.

    ``graded``: of scores, whether all are nothing but passes and failures, which settles it; None of other
    metrics. Of one whose name does not say, one value is not enough to tell. Without ``metric`` the values
    alone decide.
    """
    if not all(value in (0.0, 1.0) for value in values):
        return False
    if graded is not None:
        return graded
    bounded = is_bounded(metric)
    return bool(bounded) or (bounded is None and (not metric or len(values) > 1))
