"""The verdict on an episode, by the authority of what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.scoring.metric_names import is_judges
from engine.scoring.spec import DEFAULT_LADDER
from engine.store.scores import Measured, Score

OBSERVATIONAL = frozenset({"tool_calls", "usd", "span"})
"""They say what an episode took, and never whether it passed."""
ANY_OTHER = "*"


def verdict(scores: Iterable[Score], ladder: Sequence[str | Sequence[str]] = DEFAULT_LADDER) -> bool | None:
    """Whether the episode passed; None where nothing decides.

    The first rung of which something was measured that passes or fails decides, and all of that must pass.
    ``judge`` stands for every judge, ``*`` for whatever no other rung names. A judge's criteria, and what an
    episode took, never decide.
    """
    passes: dict[str, bool] = {}
    for score in scores:
        if isinstance(score, Measured) and score.passed is not None and _may_decide(score.metric):
            passes[score.metric] = passes.get(score.metric, True) and score.passed
    rungs = [(rung,) if isinstance(rung, str) else tuple(rung) for rung in ladder]
    named = {metric for metric in passes if any(_stands(rung, metric) for rung in rungs)}
    for rung in rungs:
        deciding = [
            passed
            for metric, passed in passes.items()
            if _stands(rung, metric) or (ANY_OTHER in rung and metric not in named)
        ]
        if deciding:
            return all(deciding)
    return None


def can_decide(metric: str, ladder: Sequence[str | Sequence[str]] = DEFAULT_LADDER) -> bool:
    """Whether a score of this metric that passes or fails may be the one that decides."""
    rungs = [(rung,) if isinstance(rung, str) else rung for rung in ladder]
    return _may_decide(metric) and any(_stands(rung, metric) or ANY_OTHER in rung for rung in rungs)


def _may_decide(metric: str) -> bool:
    is_criterion = metric.startswith("judge:") and metric.count(":") > 1
    return not is_criterion and metric not in OBSERVATIONAL


def _stands(rung: Sequence[str], metric: str) -> bool:
    return metric in rung or ("judge" in rung and is_judges(metric))
