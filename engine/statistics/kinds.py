"""What a metric is: whether it can only be within [0, 1], or takes other values too.

A score says itself whether it is nothing but a pass or a fail. Of the graph's own metrics a row has numbers
alone, and the first few of a navigation error, or the returns of a game that is never won, may well be 0:
there the name tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORDS: tuple[tuple[bool, str], ...] = (
    # Paid by a game or a task, or added up over an episode, by whatever it is paid: any number.
    (False, "return returns reward rewards rew score scores scored points payoff profit utility regret"),
    (False, "fitness total sum cumulative"),
    # Shares, of whatever is divided or weighed: as in error_rate, success_weighted_by_path_length.
    (True, "rate share fraction proportion probability accuracy weighted sr osr spl ndtw sdtw cls iou"),
    # Lengths, amounts and counts: as in steps_to_success.
    (False, "error errors length distance cost costs loss steps actions turns moves calls tokens collisions"),
    (
        False,
        "count number num time duration sec secs seconds ms latency span usd eur dollars money price spent",
    ),
    (False, "bytes mb requests retries messages files levels lives coins kills"),
    # Either is or is not.
    (True, "success successes succeeded solved passed pass reached found correct collided terminated"),
    (True, "truncated done won"),
)
"""(within [0, 1], words of a name): the first line that has one of a name's words tells."""
_KINDS = tuple((bounded, frozenset(words.split())) for bounded, words in _WORDS)
_BETWEEN = re.compile(r"[^a-z]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
"""Where ``meanReturn`` has two words; ``nDTW`` is one."""


def is_bounded(metric: str) -> bool | None:
    """Whether its values are within [0, 1]; None where the name does not say."""
    words = set(_BETWEEN.split(_HUMP.sub("_", metric).lower()))
    return next((bounded for bounded, known in _KINDS if words & known), None)


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
