"""What the form's line of the scoring means: read, looked through, and in words. Reading is for a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.control.reports import RefusedError, problem_text
from engine.control.scoring import chosen_scoring, problems_of, read_scoring_file, warnings_of
from engine.graph.model import Problem
from engine.scoring.reading import read_scoring
from engine.scoring.spec import JudgeSpec, ScoringSpec, SinkSpec
from tui.episode.inks import InkedLine, inked
from tui.losses import count

BESIDE, NONE, AS_THE_RUN = "beside the graph", "none", "as the run was"
"""What may stand in the line in place of a file's path."""

CODES = ("scoring", "no-secret")
"""Of problems that are told at that line."""


@dataclass(frozen=True)
class Scored:
    """path: of the file that says it. spec: None where nothing is scored, or it cannot be. lacks: what keeps
    nobody from starting."""

    path: Path | None = None
    spec: ScoringSpec | None = None
    problems: tuple[Problem, ...] = ()
    lacks: tuple[Problem, ...] = ()


def read_scored(root: Path, typed: str, of_run: Mapping[str, Any], graph: str) -> Scored:
    """typed: as the line has it, "" for BESIDE. of_run: how the cloned run was scored. graph: its file."""
    path = Path(typed).expanduser() if is_path(typed) else None
    try:
        if path is not None:
            data: Mapping[str, Any] = read_scoring_file(path)
        elif typed in ("", BESIDE):
            data, path = chosen_scoring({}, graph)
        else:
            data = of_run if typed == AS_THE_RUN else {}
    except RefusedError as refused:
        return Scored(path, problems=tuple(refused.problems))
    problems = problems_of(root, data, path)
    if problems or not data:
        return Scored(path, problems=tuple(problems))
    return Scored(path, read_scoring(data), (), tuple(warnings_of(root, data)))


def is_path(typed: str) -> bool:
    return typed not in ("", BESIDE, NONE, AS_THE_RUN)


def problem_line(problem: Problem) -> str:
    """A problem without the path of its file, which the line has already."""
    where = problem.where.rpartition("/")[2].removeprefix("scoring.")
    return problem_text(Problem(problem.code, where, problem.message, problem.remedy))


def asked_text(scored: Scored) -> str:
    """``2 graders, 1 judge, 1 sink``."""
    spec = scored.spec
    if spec is None:
        return "" if scored.problems else "nothing is scored"
    parts = {"grader": len(spec.graders), "judge": len(spec.judges), "sink": len(spec.sinks)}
    return ", ".join(count(number, what) for what, number in parts.items() if number) or "nothing is scored"


def asked_lines(scored: Scored) -> list[InkedLine]:
    """Graders, judges, sinks and where traces come from, each by its name."""
    lines = [inked(problem_line(problem), "bad") for problem in scored.problems]
    if (spec := scored.spec) is not None:
        trace = spec.trace
        lines += _row("graders", [grader.called for grader in spec.graders])
        lines += _row("judges", [_judge(judge) for judge in spec.judges])
        lines += _row("traces", [f"{trace.kind} {trace.endpoint}".strip()] if trace.kind != "none" else [])
        lines += _row("sinks", [_sink(sink) for sink in spec.sinks])
    lines += [inked(problem_line(problem), "warn") for problem in scored.lacks]
    return [*lines, inked(f"{scored.path}: o opens it", "dim")] if scored.path is not None else lines


def _row(label: str, names: Sequence[str]) -> list[InkedLine]:
    return [((f"{label:<8} ", "key"), (", ".join(names), "plain"))] if names else []


def _judge(judge: JudgeSpec) -> str:
    told = [f"model {judge.profile}" if judge.profile else ""]
    told.append("+".join(criterion.name for criterion in judge.criteria))
    told.append(f"passes from {judge.pass_threshold:g}" if judge.pass_threshold is not None else "")
    inside = ", ".join(filter(None, told))
    return f"{judge.id} ({inside})" if inside else judge.id


def _sink(sink: SinkSpec) -> str:
    return f"{sink.name} ({sink.kind} {sink.endpoint})".replace(" )", ")")
