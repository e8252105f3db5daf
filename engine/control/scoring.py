"""What is asked of a run's scoring: by the request, else by the file beside the saved graph."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from engine.components.roots import SCORING_SUFFIX
from engine.control.reach import ELSEWHERE, only_here
from engine.control.reports import Missing, RefusedError, ScoringUse
from engine.graph.model import Problem
from engine.models.api_key import ApiKey
from engine.models.errors import KeyMissing, ProfileError
from engine.models.profiles import pick
from engine.scoring.graders import make_grader
from engine.scoring.graders.shell import CommandGrader
from engine.scoring.reading import read_scoring, scoring_problems
from engine.scoring.secrets import FILE, Secrets, SecretsError, variable
from engine.scoring.spec import ScoringError, ScoringSpec
from engine.store.profile import Profile
from engine.store.settings import SettingsError, read_settings

NOT_SCORED: dict[str, Any] = {"graders": []}
"""A request that says this is not scored as the file beside its graph says."""

EXAMPLE = '{"graders": [{"id": "steps"}]}'
_KINDS = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def beside(graph: str | Path) -> Path:
    """Where it would lie how the runs of a saved graph are scored."""
    return Path(graph).with_suffix(SCORING_SUFFIX)


def read_scoring_file(path: Path) -> dict[str, Any]:
    """A file's JSON, whose fields are not looked at yet. RefusedError where it is none."""
    try:
        text = path.read_bytes()
        found = msgspec.json.decode(text) if text.strip() else None
    except OSError as error:
        raise RefusedError([Problem("scoring", str(path), f"cannot be read: {error.strerror}")]) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError([Problem("scoring", str(path), f"cannot be read: {error}")]) from None
    if isinstance(found, dict):
        return found
    told = f"holds {_KINDS.get(type(found), 'a number')}, and no JSON object" if text.strip() else "is empty"
    raise RefusedError([Problem("scoring", str(path), told, f"write what is asked for, such as {EXAMPLE}")])


def chosen_scoring(asked: Mapping[str, Any], source: str) -> tuple[Mapping[str, Any], Path | None]:
    """(What is asked of scoring, the file that says so): what was ``asked``, else what lies beside the graph
    of ``source``. RefusedError where that is no JSON."""
    if asked or not source.endswith(".json"):
        return asked, None
    path = beside(source)
    return (read_scoring_file(path), path) if path.is_file() else (asked, None)


def problems_of(root: Path, scoring: Mapping[str, Any], file: Path | None = None) -> list[Problem]:
    """What keeps a run from being scored so; each under its field, and ``file`` where it is of one."""
    if not scoring:
        return []
    found = scoring_problems(scoring, _profiles(root))
    return [_in(file, problem) for problem in found] if file else found


def checked_file(root: Path, path: Path) -> dict[str, Any]:
    """The scoring that a file asks for. RefusedError with all that is wrong with it."""
    scoring = read_scoring_file(path)
    if problems := problems_of(root, scoring, path):
        raise RefusedError(problems)
    return scoring or NOT_SCORED


def checked_beside(root: Path, graph: Path) -> dict[str, Any]:
    """The same of the file beside a graph; {} where there is none."""
    path = beside(graph.resolve())
    return checked_file(root, path) if path.is_file() else {}


def warnings_of(root: Path, scoring: Mapping[str, Any]) -> list[Problem]:
    """What costs some of its scores, exports or traces, and keeps nobody from starting: secrets that are not
    there. ``scoring`` has no problems."""
    if not scoring:
        return []
    return [
        Problem(lack.code, lack.where, lack.told, severity="warning")
        for lack in _lacking(root, read_scoring(scoring))
    ]


def out_of_reach(root: Path, scoring: Mapping[str, Any], caller_secrets: Collection[str]) -> list[Problem]:
    """Secrets, and keys of judges' models, that whoever asks has set, by the names of their variables, and
    that the run would not have: they were meant to be used."""
    try:
        lacking = _lacking(root, read_scoring(scoring))
    except ScoringError:
        return []
    return [
        Problem(lack.code, lack.where, only_here(lack.variable), lack.remedy)
        for lack in lacking
        if lack.variable in caller_secrets
    ]


def changed_graders(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Problem]:
    """Graders of ``now`` whose scores of before would be kept, as the environment is gone, although they are
    to grade otherwise."""
    try:
        old = {grader.called: grader for grader in read_scoring(before).graders}
    except ScoringError:
        return []
    told = "needs the episodes' environment, which is gone, and is not what it was when they were played"
    remedy = "leave it as it was, or give it another id, by which it is unmeasured"
    return [
        Problem("scoring", f"scoring.graders[{place}]", f"{grader.called!r} {told}", remedy)
        for place, grader in enumerate(read_scoring(now).graders)
        if old.get(grader.called, grader) != grader and make_grader(grader).needs_compute
    ]


def described(
    root: Path, source: str, file: Path | None = None
) -> tuple[ScoringUse | None, list[Problem], list[Missing]]:
    """What ``check`` tells of ``file``, else of the one beside a graph: what it asks for, what is wrong with
    it, and what of it is not here."""
    try:
        scoring, path = (read_scoring_file(file), file) if file else chosen_scoring({}, source)
    except RefusedError as error:
        return None, error.problems, []
    if path is None:
        return None, [], []
    try:
        spec = read_scoring(scoring)
    except ScoringError as error:
        return None, [_in(path, problem) for problem in error.problems], []
    told = [_in(path, problem) for problem in [*warnings_of(root, scoring), *_left_to_cases(spec)]]
    return _use(path, spec), told, _missing_profiles(root, spec)


def _left_to_cases(spec: ScoringSpec) -> list[Problem]:
    """Graders without a command: only where each case says one do they measure anything."""
    told = "is empty: only a case that says one (expected.cmd) is graded, and no other is measured"
    graders = [make_grader(grader) for grader in spec.graders]
    return [
        Problem("no-command", f"scoring.graders[{place}].config.cmd", told, "give one", severity="warning")
        for place, grader in enumerate(graders)
        if isinstance(grader, CommandGrader) and grader.takes_command and not grader.config.cmd.strip()
    ]


def _use(path: Path, spec: ScoringSpec) -> ScoringUse:
    return ScoringUse(
        path=str(path),
        graders=[grader.called for grader in spec.graders],
        judges=[judge.id for judge in spec.judges],
        trace=f"{spec.trace.kind} {spec.trace.endpoint}" if spec.trace.kind != "none" else "",
        sinks=[f"{sink.name} ({sink.kind} {sink.endpoint})" for sink in spec.sinks],
    )


def _missing_profiles(root: Path, spec: ScoringSpec) -> list[Missing]:
    profiles = _profiles(root)
    missing: dict[str, Missing] = {}
    for judge in spec.judges:
        try:
            pick(profiles, judge.profile)
        except ProfileError as error:
            found = missing.setdefault(
                judge.profile, Missing(kind="profile", name=judge.profile, remedy=error.remedy)
            )
            found.wanted.append(f"judge {judge.id}")
    return list(missing.values())


@dataclass(frozen=True)
class _Lack:
    """What is asked for and not there. where: the first field that asks for it. variable: that would hold it.
    told: why there is none. remedy: for who has it."""

    code: str
    where: str
    variable: str
    told: str
    remedy: str


def _lacking(root: Path, spec: ScoringSpec) -> list[_Lack]:
    return [*_secrets_lacking(root, spec), *_keys_lacking(root, spec)]


def _secrets_lacking(root: Path, spec: ScoringSpec) -> list[_Lack]:
    """Each once, however many fields ask for it."""
    secrets = Secrets(root)
    named = [("scoring.trace.auth_secret", spec.trace.auth_secret)]
    named += [
        (f"scoring.sinks[{place}].auth_secret", sink.auth_secret) for place, sink in enumerate(spec.sinks)
    ]
    told: dict[str, list[tuple[str, str]]] = {}
    for where, name in named:
        try:
            if name and secrets.get(name) is None:
                told.setdefault(secrets.missing(name), []).append((where, name))
        except SecretsError as error:
            told.setdefault(str(error), []).append((where, name))
    return [
        _Lack("no-secret", fields[0][0], variable(fields[0][1]), why + _also(fields[1:]), _add(fields[0][1]))
        for why, fields in told.items()
    ]


def _also(fields: Sequence[tuple[str, str]]) -> str:
    others = ", ".join(where.removeprefix("scoring.") for where, _ in fields)
    return f"; it stands against {others}, too" if others else ""


def _add(name: str) -> str:
    return f"add {name!r} to {FILE} (mode 0600), or {ELSEWHERE}"


def _keys_lacking(root: Path, spec: ScoringSpec) -> list[_Lack]:
    """Keys of the profiles that judges ask, each once. A profile that is not there is told elsewhere."""
    profiles = _profiles(root)
    found: dict[str, _Lack] = {}
    for place, judge in enumerate(spec.judges):
        with suppress(ProfileError):
            name = pick(profiles, judge.profile)
            where = f"scoring.judges[{place}].profile"
            try:
                ApiKey(profiles[name], os.environ)
            except KeyMissing as error:
                told = f"profile {name!r}: {error.message}: {error.remedy}"
                key = profiles[name].api_key_env
                found.setdefault(name, _Lack("no-api-key", where, key, told, ELSEWHERE))
    return list(found.values())


def _profiles(root: Path) -> Mapping[str, Profile]:
    """Settings that cannot be used are told where the graph is checked."""
    try:
        return read_settings(root).profiles
    except SettingsError:
        return {}


def _in(file: Path, problem: Problem) -> Problem:
    """The problem under its file."""
    where = problem.where.removeprefix("scoring").removeprefix(".")
    return Problem(
        problem.code,
        f"{file}: {where}" if where else str(file),
        problem.message,
        problem.remedy,
        problem.severity,
    )
