"""What is asked of scoring, from a request's ``scoring`` or a ``<graph>.scoring.json``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine.graph.model import Problem
from engine.graph.names import near_or_all
from engine.models.errors import ProfileError
from engine.models.profiles import pick
from engine.scoring.asked import clashes, ladder_problems
from engine.scoring.attributes import NAMES
from engine.scoring.graders import grader_problems
from engine.scoring.metric_names import NAME_RULE, is_name
from engine.scoring.sources.file import is_inside
from engine.scoring.spec import (
    Criterion,
    GraderSpec,
    JudgeSpec,
    ScoringError,
    ScoringSpec,
    SinkSpec,
    TraceSpec,
)
from engine.scoring.tables import Check, TableReader, problem
from engine.scoring.urls import url_problem
from engine.store.profile import Profile

_SECRET = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SOUGHT_IN = {"otel": "service", "mlflow": "experiment", "phoenix": "project", "langsmith": "project"}
"""Kind of a platform → what a trace is looked for in by its tag."""
_PUT_INTO = {"mlflow": "experiment", "phoenix": "project", "langsmith": "project"}
"""Kind of a platform → what a trace is put into."""


def read_scoring(data: Mapping[str, Any]) -> ScoringSpec:
    """Raises ScoringError with every problem."""
    spec, problems = _read(data)
    if spec is None or problems:
        raise ScoringError(problems)
    return spec


def scoring_problems(data: Mapping[str, Any], profiles: Mapping[str, Profile]) -> list[Problem]:
    """What keeps a run from being scored so; ``profiles``: of evaltower.toml, which judges name."""
    problems = _read(data)[1]
    for place, profile in _asked_profiles(data):
        try:
            pick(profiles, profile)
        except ProfileError as error:
            problems.append(problem(f"scoring.judges[{place}].profile", error.message, error.remedy))
    return problems


def _asked_profiles(data: Any) -> Iterator[tuple[int, str]]:
    """(Place, profile) of each judge: whatever else is wrong with the request."""
    judges = data.get("judges") if isinstance(data, Mapping) else None
    for place, judge in enumerate(judges if isinstance(judges, list) else []):
        profile = judge.get("profile", "") if isinstance(judge, Mapping) else None
        if isinstance(profile, str):
            yield place, profile


def _read(data: Any) -> tuple[ScoringSpec | None, list[Problem]]:
    reader = TableReader(_CHECKS, _CALLED)
    spec = reader.read(_with_criteria(data), ScoringSpec, "scoring")
    return spec, [*reader.problems, *clashes(data), *ladder_problems(data)]


def _with_criteria(data: Any) -> Any:
    """Criteria that are texts as tables."""
    if not isinstance(data, Mapping) or not isinstance(data.get("judges"), list):
        return data
    return {**data, "judges": [_judge_with_criteria(judge) for judge in data["judges"]]}


def _judge_with_criteria(judge: Any) -> Any:
    if not isinstance(judge, Mapping) or not isinstance(judge.get("criteria"), list):
        return judge
    criteria = [{"name": one} if isinstance(one, str) else one for one in judge["criteria"]]
    return {**judge, "criteria": criteria}


def _judge(spec: JudgeSpec, where: str) -> Iterator[Problem]:
    yield from _name(spec.id, f"{where}.id", "a judge")
    if spec.runs_on:
        told = "cannot be chosen: a judge is asked by the run itself, wherever its model is served"
        yield problem(f"{where}.runs_on", told, "leave it out, and name a profile of that server")


def _criterion(spec: Criterion, where: str) -> Iterator[Problem]:
    yield from _name(spec.name, f"{where}.name", "a criterion")


def _trace(spec: TraceSpec, where: str) -> Iterator[Problem]:
    yield from _secret(spec.auth_secret, where)
    if spec.kind == "none":
        return
    if spec.kind == "file":
        if not is_inside(spec.endpoint):
            told = "must be the path of a file within the episode's folder"
            yield problem(f"{where}.endpoint", told, "such as trace.jsonl: without a / first, and without ..")
        if spec.collect != "job":
            told = "cannot be control-plane: a file is gone with the episode's environment"
            yield problem(f"{where}.collect", told, "leave it out, or say job")
        return
    yield from _endpoint(spec.endpoint, where)
    for what in sorted(spec.mapping.keys() - NAMES.keys()):
        yield problem(f"{where}.mapping.{what}", "is not looked for", near_or_all(what, NAMES, "there are"))
    needed = _SOUGHT_IN.get(spec.kind)
    if needed and not getattr(spec, needed) and (spec.correlate == "tag" or spec.kind == "phoenix"):
        yield problem(f"{where}.{needed}", f"is missing: {spec.kind} looks for traces in one")


def _sink(spec: SinkSpec, where: str) -> Iterator[Problem]:
    yield from _name(spec.name, f"{where}.name", "a sink")
    yield from _secret(spec.auth_secret, where)
    yield from _endpoint(spec.endpoint, where)
    needed = _PUT_INTO.get(spec.kind)
    if needed and not getattr(spec, needed):
        yield problem(f"{where}.{needed}", f"is missing: {spec.kind} puts traces into one")


def _name(name: str, where: str, whose: str) -> Iterator[Problem]:
    if not is_name(name):
        yield problem(where, f"{name[:80]!r} is no name for {whose}", f"use {NAME_RULE}")


def _endpoint(url: str, where: str) -> Iterator[Problem]:
    if wrong := url_problem(url):
        yield problem(f"{where}.endpoint", *wrong)


def _secret(name: str, where: str) -> Iterator[Problem]:
    """Repeats nothing of it: it may be the secret itself."""
    if name and not _SECRET.fullmatch(name):
        remedy = "name one that is in EVALTOWER_SECRET_<NAME>, or in outputs/secrets.toml"
        yield problem(f"{where}.auth_secret", "is no name of a secret (A-Z, a-z, 0-9, _)", remedy)


_CHECKS: dict[type, Check] = {
    GraderSpec: grader_problems,
    JudgeSpec: _judge,
    Criterion: _criterion,
    TraceSpec: _trace,
    SinkSpec: _sink,
}
_CALLED: dict[type, tuple[Callable[[Any], str], str]] = {
    GraderSpec: (lambda spec: spec.called, "config.id"),
    JudgeSpec: (lambda spec: spec.id, "id"),
    Criterion: (lambda spec: spec.name, "name"),
    SinkSpec: (lambda spec: spec.name, "name"),
}
