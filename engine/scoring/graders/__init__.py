"""The kinds of graders (contract scoring.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.graph.model import Problem
from engine.graph.names import near_or_all
from engine.scoring.graders.base import AnyGrader, Grader
from engine.scoring.graders.browser import DomContains, UrlMatches
from engine.scoring.graders.commands import Command, ScriptScore, TestsPass
from engine.scoring.graders.counts import Cost, Latency, Steps
from engine.scoring.graders.reward_file import RewardFile
from engine.scoring.graders.script import Script
from engine.scoring.graders.swe_bench import SweBench
from engine.scoring.graders.texts import AnswerMatch, TextMetric
from engine.scoring.spec import GraderSpec, ScoringError
from engine.scoring.tables import TableReader, problem

__all__ = ["KINDS", "AnyGrader", "Grader", "grader_problems", "make_grader"]

KINDS: dict[str, type[Grader[Any]]] = {
    grader.kind: grader
    for grader in (
        TestsPass,
        Command,
        SweBench,
        ScriptScore,
        Script,
        RewardFile,
        Steps,
        Cost,
        Latency,
        AnswerMatch,
        TextMetric,
        DomContains,
        UrlMatches,
    )
}


def make_grader(spec: GraderSpec) -> AnyGrader:
    """Raises ScoringError for an unknown kind, or a config that does not fit."""
    problems = list(grader_problems(spec, f"grader {spec.called!r}"))
    if problems:
        raise ScoringError(problems)
    return KINDS[spec.id](spec.config)


def grader_problems(spec: GraderSpec, where: str) -> Iterator[Problem]:
    """What keeps it from being made."""
    kind = KINDS.get(spec.id)
    if kind is None:
        remedy = near_or_all(spec.id, KINDS, "there are")
        yield problem(f"{where}.id", f"there is no kind of grader {spec.id!r}", remedy)
        return
    reader = TableReader()
    reader.read(spec.config, kind.Config, f"{where}.config")
    yield from reader.problems
