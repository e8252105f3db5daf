"""What the form's line of the scoring means: read, looked through, and in words. Reading is for a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.control.reports import RefusedError, problem_text
from engine.control.scoring import chosen_scoring, problems_of, read_scoring_file, warnings_of
from engine.figures import count
from engine.graph.model import Problem
from tui.episode.inks import InkedLine, inked

BESIDE, NONE, AS_THE_RUN = "beside the graph", "none", "as the run was"
"""What may stand in the line in place of a file's path."""

CODES = ("scoring", "no-secret")
"""Of problems that are told at that line."""


@dataclass(frozen=True)
class Scored:
    """path: of the file that says it. asked: what it says, nothing of it wrong; empty where nothing is
    scored, or it cannot be. lacks: what keeps nobody from starting."""

    path: Path | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
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
    return Scored(path, data, (), tuple(warnings_of(root, data)))


def is_path(typed: str) -> bool:
    return typed not in ("", BESIDE, NONE, AS_THE_RUN)


def problem_line(problem: Problem) -> str:
    """A problem without the path of its file, which the line has already."""
    where = problem.where.rpartition("/")[2].removeprefix("scoring.")
    return problem_text(Problem(problem.code, where, problem.message, problem.remedy))


def asked_text(scored: Scored) -> str:
    """``2 graders, 1 judge, 1 sink``."""
    parts = {what: len(scored.asked.get(f"{what}s", ())) for what in ("grader", "judge", "sink")}
    told = ", ".join(count(number, what) for what, number in parts.items() if number)
    return told or ("" if scored.problems else "nothing is scored")


def asked_lines(scored: Scored) -> list[InkedLine]:
    """Graders, judges, sinks and where traces come from, each by its name."""
    lines = [inked(problem_line(problem), "bad") for problem in scored.problems]
    asked = scored.asked
    lines += _row("graders", [_grader(grader) for grader in asked.get("graders", ())])
    lines += _row("judges", [_judge(judge) for judge in asked.get("judges", ())])
    trace = asked.get("trace", {})
    if trace.get("kind", "none") != "none":
        lines += _row("traces", [f"{trace['kind']} {trace.get('endpoint', '')}".strip()])
    lines += _row("sinks", [_sink(sink) for sink in asked.get("sinks", ())])
    lines += [inked(problem_line(problem), "warn") for problem in scored.lacks]
    return [*lines, inked(f"{scored.path}: o opens it", "dim")] if scored.path is not None else lines


def _row(label: str, names: Sequence[str]) -> list[InkedLine]:
    return [((f"{label:<8} ", "key"), (", ".join(names), "plain"))] if names else []


def _grader(grader: Mapping[str, Any]) -> str:
    return str(grader.get("config", {}).get("id") or grader["id"])


def _judge(judge: Mapping[str, Any]) -> str:
    criteria = [each if isinstance(each, str) else each["name"] for each in judge.get("criteria", ())]
    told = [f"model {judge['profile']}" if judge.get("profile") else "", "+".join(criteria)]
    least = judge.get("pass_threshold")
    told.append(f"passes from {least:g}" if least is not None else "")
    inside = ", ".join(filter(None, told))
    return f"{judge['id']} ({inside})" if inside else str(judge["id"])


def _sink(sink: Mapping[str, Any]) -> str:
    return f"{sink['name']} ({' '.join(filter(None, [sink['kind'], sink.get('endpoint')]))})"
