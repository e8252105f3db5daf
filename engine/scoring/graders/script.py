"""A grader of the operator's own, as a program in the episode's environment."""

from __future__ import annotations

import json
import shlex
from posixpath import join
from typing import Any, Literal

import msgspec

from engine.scoring.context import Case, Compute, Evidence
from engine.scoring.graders.base import check_metric
from engine.scoring.graders.shell import FOLDER, CommandConfig, CommandGrader
from engine.store.scores import Invalid, Measured, Score, Unmeasured
from engine.store.strict_json import encode

_INTERPRETERS = {"python": ("python3", "py"), "node": ("node", "mjs")}
_OWN = ("script",)
_SCORES = msgspec.json.Decoder(list[Measured | Unmeasured | Invalid])


class ScriptConfig(CommandConfig, frozen=True, kw_only=True):
    """code: the program, or entrypoint: the path of one that is there, from ``cwd``. metrics: what it scores
    at least; those that decide the verdict it may only score if they are named here. metric: the same, of
    one."""

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
    Config = ScriptConfig

    @property
    def metrics(self) -> tuple[str, ...]:
        return (self.config.metric,) if self.config.metric else self.config.metrics

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
            raise RuntimeError(f"the script ended with exit code {done.exit_code}: {said}")
        return _scores(done.stdout, self.id)


def _context(evidence: Evidence) -> dict[str, Any]:
    return {"case": _plain(evidence.case), "trace": evidence.events, "snapshot": evidence.snapshot}


def _plain(case: Case) -> dict[str, Any]:
    return {name: getattr(case, name) for name in Case.__slots__}


def _scores(stdout: str, grader_id: str) -> list[Score]:
    """Raises ValueError where there are none."""
    found = _last_json(stdout)
    several = found if isinstance(found, list) else [found]
    if not several or not all(isinstance(one, dict) for one in several):
        raise ValueError(f"the script printed no score: {stdout[-500:]!r}")
    stamped = [{"status": "measured", **one, "grader_id": grader_id} for one in several]
    try:
        return list(_SCORES.decode(msgspec.json.encode(stamped)))
    except msgspec.ValidationError as error:
        raise ValueError(f"what the script printed is no score: {error}") from None


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
