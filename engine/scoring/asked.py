"""What is measured by the graders and judges that a request asks for, and which of it may decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec

from engine.graph.model import Problem
from engine.graph.names import near_or_all
from engine.scoring.graders import AnyGrader, make_grader
from engine.scoring.ladder import ANY_OTHER, can_decide
from engine.scoring.metric_names import is_judges, metric_problem
from engine.scoring.spec import DEFAULT_LADDER, GraderSpec, JudgeSpec, ScoringError, ScoringSpec
from engine.scoring.tables import problem

_USUAL = frozenset(metric for rung in DEFAULT_LADDER for metric in rung)
"""Metrics that a ladder may name though nothing measures them here: one ladder serves several graphs."""


def asks_verdict(spec: ScoringSpec) -> bool:
    """Whether episodes are to pass or fail, so that one without a verdict lacks something."""
    graders = [make_grader(grader) for grader in spec.graders]
    return any(can_decide(metric, spec.verdict) for metric in deciding(graders, spec.judges))


def wants_verdicts(scoring: Mapping[str, Any]) -> bool:
    """The same of a start request's ``scoring``, whatever is in it."""
    return bool(scoring) and _wants_verdicts(msgspec.json.encode(scoring))


@lru_cache(maxsize=256)
def _wants_verdicts(scoring: bytes) -> bool:
    """Lists of runs ask again and again, and mostly of equal ones."""
    from engine.scoring.reading import read_scoring

    try:
        return asks_verdict(read_scoring(msgspec.json.decode(scoring)))
    except ScoringError:
        return False


def metric_owners(graders: Sequence[AnyGrader]) -> dict[str, str]:
    """Metric → the id of the grader that declares it."""
    return {metric: grader.id for grader in reversed(graders) for metric in grader.metrics}


def deciding(graders: Sequence[AnyGrader], judges: Sequence[JudgeSpec]) -> dict[str, str]:
    """Metric → the id of the grader or judge that is to pass or fail it."""
    passing = metric_owners([grader for grader in graders if grader.passes])
    return passing | {judge.called: judge.called for judge in judges}


def clashes(data: Any) -> Iterator[Problem]:
    """Graders whose score would be another's, since it is called the same."""
    first: dict[str, int] = {}
    for place, grader in _graders(data).items():
        for metric in grader.metrics:
            before = first.setdefault(metric, place)
            if before != place:
                told = f"also scores {metric!r}, as scoring.graders[{before}] does"
                remedy = "give one another config.metric: which of the two is the number of the run?"
                yield problem(f"scoring.graders[{place}]", told, remedy)


def ladder_problems(data: Any) -> Iterator[Problem]:
    """Rungs of what is a ladder, whatever else is wrong with the request, that can decide nothing."""
    ladder = _listed(data, "verdict")
    known = _known(data)
    for place, rung in enumerate(ladder):
        metrics = [rung] if isinstance(rung, str) else rung
        if not isinstance(metrics, list) or not all(isinstance(metric, str) for metric in metrics):
            continue
        at = f"scoring.verdict[{place}]"
        if not metrics:
            yield problem(at, "is empty", "name the metrics that decide there, or leave the rung out")
        for metric in metrics:
            wrong = _wrong_on_ladder(metric, known)
            if wrong:
                yield problem(at, *wrong)
    if _decides_nothing(data, known):
        told = "can decide nothing: no grader and no judge that is asked passes or fails on any of its rungs"
        yield problem("scoring.verdict", told, "add one that does, or leave the ladder out")


def _decides_nothing(data: Any, known: Sequence[str] | None) -> bool:
    """Whether a ladder is all right otherwise, and nothing that is asked stands on it."""
    try:
        ladder = msgspec.convert(_listed(data, "verdict"), list[str | list[str]])
    except msgspec.ValidationError:
        return False
    rungs = [[rung] if isinstance(rung, str) else rung for rung in ladder]
    if not rungs or known is None or any(_wrong_on_ladder(m, known) for rung in rungs for m in rung):
        return False
    judges = [f"judge:{judge['id']}" for judge in _listed(data, "judges")]
    graded = [metric for grader in _graders(data).values() if grader.passes for metric in grader.metrics]
    return not any(can_decide(metric, ladder) for metric in (*graded, *judges))


def _wrong_on_ladder(metric: str, known: Sequence[str] | None) -> tuple[str, str] | None:
    """(What is wrong with it, what helps). known: what it may be, None where that cannot be told."""
    if metric == ANY_OTHER:
        return None
    if metric.startswith("judge:") and metric.count(":") > 1:
        return f"{metric!r} is a judge's criterion, and none decides", "name the judge"
    wrong = None if is_judges(metric) else metric_problem(metric, (metric,))
    if wrong:
        return wrong, ""
    if known is None or metric in known or metric in _USUAL:
        return None
    return f"no grader and no judge scores {metric!r}", near_or_all(metric, known, "there are")


def _known(data: Any) -> list[str] | None:
    """What graders and judges score that may decide; None where one of them cannot be made out."""
    graders, judges = _graders(data), _listed(data, "judges")
    ids = [judge.get("id") if isinstance(judge, Mapping) else None for judge in judges]
    if len(graders) < len(_listed(data, "graders")) or not all(isinstance(name, str) for name in ids):
        return None
    scored = [metric for grader in graders.values() for metric in grader.metrics]
    return [*scored, *(f"judge:{name}" for name in ids), "judge", ANY_OTHER]


def _graders(data: Any) -> dict[int, AnyGrader]:
    """Place → grader, of those that can be made, whatever else is wrong with the request."""
    made = {}
    for place, given in enumerate(_listed(data, "graders")):
        with suppress(msgspec.ValidationError, ScoringError):
            made[place] = make_grader(msgspec.convert(given, GraderSpec))
    return made


def _listed(data: Any, name: str) -> list[Any]:
    found = data.get(name) if isinstance(data, Mapping) else None
    return found if isinstance(found, list) else []
