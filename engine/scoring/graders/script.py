"""A grader of the operator's own, as a program in the episode's environment."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection
from posixpath import join
from typing import Any, Literal

import msgspec

from engine.scoring.context import Case, Compute, Evidence, NotMeasured
from engine.scoring.graders.base import check_metric
from engine.scoring.graders.shell import FOLDER, CommandConfig, CommandGrader
from engine.store.scores import Invalid, Measured, Score, Unmeasured
from engine.store.strict_json import encode

_INTERPRETERS = {"python": ("python3", "py"), "node": ("node", "mjs")}
_OWN = ("script",)
FORMAT = (
    'Its last line is to be JSON: {"metric": "length", "value": 0.5, "pass": true, "detail": "why"}, of which'
    " pass and detail may be left out, or a list of such"
)


class ScriptConfig(CommandConfig, frozen=True, kw_only=True):
    """code: the program, or entrypoint: the path of one that is there, from ``cwd``. metrics: what it scores,
    and nothing else; where none are named, whatever it prints, but for those that decide the verdict. metric:
    the same, of one."""

    language: Literal["python", "node"] = "python"
    code: str = ""
    entrypoint: str = ""
    metrics: tuple[str, ...] = _OWN

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.code) == bool(self.entrypoint):
            raise ValueError("give either code, the program's text, or entrypoint, the path of one")
        if self.cmd:
            raise ValueError("cmd: a script has no command line of its own")
        if not self.metrics:
            raise ValueError("metrics: name what it scores")
        if self.metric and self.metrics != _OWN:
            raise ValueError("give either metric, where it scores one, or metrics")
        for metric in self.metrics:
            check_metric(metric)


class Script(CommandGrader[ScriptConfig]):
    """The program is given the path of a JSON file {case, trace, snapshot}. The last line of its standard
    output that is JSON is a score or several: {metric, value, pass?, label?, detail?}, or one with a
    ``status`` as in the episode's row. Any other exit code than 0 is an error, and no score."""

    kind = "script"
    takes_command = False
    Config = ScriptConfig

    @property
    def metrics(self) -> tuple[str, ...]:
        return (self.config.metric,) if self.config.metric else self.config.metrics

    @property
    def named(self) -> tuple[str, ...]:
        """Those that the request names: one that is not scored then is told."""
        return self.metrics if self.config.metric or self.config.metrics != _OWN else ()

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        held, config = self.held(compute), self.config
        interpreter, suffix = _INTERPRETERS[config.language]
        folder = f"{FOLDER}/{self.id}"
        program = config.entrypoint or f"{folder}/grader.{suffix}"
        if config.code:
            await held.write_file(join(config.cwd, program), config.code.encode())
        await held.write_file(join(config.cwd, folder, "context.json"), encode(_context(evidence)))
        words = shlex.join([interpreter, program, f"{folder}/context.json"])
        done = await self.run(held, f"{words}; status=$?; rm -rf {folder}; exit $status", config)
        if done.exit_code != 0:
            said = (done.stderr + done.stdout)[-500:]
            raise NotMeasured(f"the script ended with exit code {done.exit_code}: {said}", "grader_error")
        return _scores(done.stdout, self)


def _context(evidence: Evidence) -> dict[str, Any]:
    return {"case": _plain(evidence.case), "trace": evidence.events, "snapshot": evidence.snapshot}


def _plain(case: Case) -> dict[str, Any]:
    return {name: getattr(case, name) for name in Case.__slots__}


def _scores(stdout: str, grader: Script) -> list[Score]:
    """Each on its own: one that is none voids no other. Raises NotMeasured where there are none."""
    found = _last_json(stdout)
    several = found if isinstance(found, list) else [found]
    if not any(isinstance(one, dict) for one in several):
        raise NotMeasured(f"the script printed no score: {stdout[-500:]!r}. {FORMAT}", "grader_error")
    scores: list[Score] = []
    scored: set[str] = set()
    for one in several:
        score = _score(one, grader)
        scores.append(_once(score, scored, grader) if isinstance(score, Measured) else score)
        scored.add(score.metric)
    return scores + [
        _lacking(grader, metric, f"the script printed no score of {metric!r}. {FORMAT}")
        for metric in grader.named
        if metric not in scored
    ]


def _score(printed: Any, grader: Script) -> Score:
    own = printed if isinstance(printed, dict) else {}
    try:
        stamped = {"status": "measured", **own, "grader_id": grader.id} if own is printed else printed
        score: Score = msgspec.convert(stamped, Score)
        return score
    except msgspec.ValidationError as error:
        metric = own.get("metric")
        called = metric if isinstance(metric, str) and metric else grader.metrics[0]
        told = f"what the script printed is no score: {error}: {json.dumps(printed)[:500]}. {FORMAT}"
        return _lacking(grader, called, told)


def _once(score: Measured, scored: Collection[str], grader: Script) -> Score:
    """The score, if its metric is one that it may score, for the first time."""
    if grader.named and score.metric not in grader.named:
        told = f"the script scored {score.metric!r}, which is none of its metrics: {', '.join(grader.named)}"
    elif score.metric in scored:
        told = f"the script scored {score.metric!r} twice: {score.value:g} is not counted"
    else:
        return score
    return Invalid(grader_id=grader.id, metric=score.metric, reason="contract_violation", detail=told)


def _lacking(grader: Script, metric: str, told: str) -> Unmeasured:
    return Unmeasured(grader_id=grader.id, metric=metric, reason="grader_error", detail=told)


def _last_json(stdout: str) -> Any:
    """The last line that is a JSON table or list; None where there is none."""
    for line in reversed(stdout.splitlines()):
        if line.lstrip().startswith(("{", "[")) and (found := _parsed(line)) is not None:
            return found
    return None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
