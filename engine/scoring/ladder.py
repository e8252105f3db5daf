"""The verdict on an episode, by the authority of what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.scoring.metric_names import is_judges
from engine.scoring.spec import DEFAULT_LADDER
from engine.store.scores import Measured, Score

OBSERVATIONAL = frozenset({"tool_calls", "usd", "span"})
"""They say what an episode took, and never whether it passed."""
ANY_OTHER = "*"


@dataclass(frozen=True, slots=True)
class Decision:
    """passed: None where that is not known, yet or at all. by: the metrics that decided. lacking: those above
    them that could not be measured, and so left it to them."""

    passed: bool | None
    by: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()


def verdict(
    scores: Iterable[Score], ladder: Sequence[str | Sequence[str]], asked: Mapping[str, str]
) -> bool | None:
    """Whether the episode passed; None where that is not known, yet or at all. See :func:`decide`."""
    return decide(scores, ladder, asked).passed


def decide(
    scores: Iterable[Score], ladder: Sequence[str | Sequence[str]], asked: Mapping[str, str]
) -> Decision:
    """Whether the episode passed, and by what.

    ``asked``: metric → the grader or judge that is to pass or fail it. The first rung of which something was
    measured decides, and all of it must pass: one that fails decides at once, one whose owner has not
    answered yet leaves it open, as one that could not be measured does beside others that pass. A rung of
    which nothing could be measured leaves it to the next. ``judge`` stands for every judge, ``*`` for
    whatever no other rung names. A judge's criteria, and what an episode took, never decide.
    """
    every = list(scores)
    answered = {score.grader_id for score in every}
    given = [score for score in every if _may_decide(score.metric)]
    passes: dict[str, bool] = {}
    for score in given:
        if isinstance(score, Measured) and score.passed is not None:
            passes[score.metric] = passes.get(score.metric, True) and score.passed
    to_come = {metric for metric, owner in asked.items() if owner not in answered and _may_decide(metric)}
    lacking = {
        score.metric
        for score in given
        if not isinstance(score, Measured) and asked.get(score.metric) == score.grader_id
    }
    rungs = [(rung,) if isinstance(rung, str) else tuple(rung) for rung in ladder]
    known = passes.keys() | to_come | lacking
    named = {metric for metric in known if any(_stands(rung, metric) for rung in rungs)}
    above: set[str] = set()
    for rung in rungs:
        on_it = {m for m in known if _stands(rung, m) or (ANY_OTHER in rung and m not in named)}
        decided = on_it & passes.keys()
        if not all(passes[metric] for metric in decided):
            return Decision(False, frozenset(decided), frozenset(above))
        if on_it & to_come or (decided and on_it & lacking):
            return Decision(None)
        if decided:
            return Decision(True, frozenset(decided), frozenset(above))
        above |= on_it & lacking
    return Decision(None)


def can_decide(metric: str, ladder: Sequence[str | Sequence[str]] = DEFAULT_LADDER) -> bool:
    """Whether a score of this metric that passes or fails may be the one that decides."""
    rungs = [(rung,) if isinstance(rung, str) else rung for rung in ladder]
    return _may_decide(metric) and any(_stands(rung, metric) or ANY_OTHER in rung for rung in rungs)


def _may_decide(metric: str) -> bool:
    is_criterion = metric.startswith("judge:") and metric.count(":") > 1
    return not is_criterion and metric not in OBSERVATIONAL


def _stands(rung: Sequence[str], metric: str) -> bool:
    return metric in rung or ("judge" in rung and is_judges(metric))
