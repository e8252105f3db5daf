"""What graders that run commands in the episode's environment share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from posixpath import join
from typing import Annotated, ClassVar, TypeVar

import msgspec

from engine.scoring.context import Compute, ComputeUnsupported, Executed, NotMeasured, missing
from engine.scoring.graders.base import Config, Grader
from engine.scoring.graders.programs import missing_program

FOLDER = ".evaltower"
"""In the working folder; what a grader puts there is gone when it ends."""
MOST_OUTPUT = 2000
KILLED = 128 + 9
"""The exit code of a command that SIGKILL ended."""

Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]


class CommandConfig(Config, frozen=True, kw_only=True):
    """cmd: a shell command line, "" is the case's. cwd: where, from the case's folder. env: beyond what the
    environment has."""

    cmd: str = ""
    cwd: str = ""
    timeout_sec: Seconds = 600.0
    env: dict[str, str] = msgspec.field(default_factory=dict)


C = TypeVar("C", bound=CommandConfig)


class CommandGrader(Grader[C]):
    """``takes_command``: what it runs is ``cmd``."""

    needs_compute = True
    takes_command: ClassVar[bool] = True

    def held(self, compute: Compute | None) -> Compute:
        """Raises ComputeUnsupported where there is none: never a 0."""
        if compute is None:
            raise ComputeUnsupported(f"{self.kind} works in the episode's environment, and there is none")
        return compute

    async def run(self, compute: Compute, command: str, config: CommandConfig) -> Executed:
        """The command line, ended. Raises NotMeasured for none, for one whose program is not there, and for
        one that outlived its time or the machine's memory: what the box did is no verdict on the episode."""
        if not command.strip():
            raise missing("there is no command: cmd is empty in the config, and in what the case expects")
        before = oom_kills()
        done = await compute.exec(
            command, cwd=config.cwd, timeout_sec=config.timeout_sec, env=config.env or None
        )
        if done.timed_out:
            told = f"the command took more than {config.timeout_sec:g} s\n{output_of(done)}"
            raise NotMeasured(told, "grader_timeout", retryable=True)
        if done.exit_code == KILLED and oom_kills() > before:
            told = f"the command was killed as the machine ran out of memory\n{output_of(done)}"
            raise NotMeasured(told, "grader_error", retryable=True)
        await _require_program(compute, command, done, config.env)
        return done


def oom_kills(counters: Path = Path("/proc/vmstat")) -> int:
    """Processes that this machine's kernel has ended for want of memory; 0 where it does not count them."""
    try:
        lines = counters.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


async def _require_program(
    compute: Compute, command: str, done: Executed, env: Mapping[str, str] | None = None
) -> None:
    """Raises NotMeasured where the command's program is not there."""
    missing = await missing_program(compute, command, done, env or None)
    if missing is not None:
        remedy = "install it there, or name another in cmd"
        told = f"the environment has no program {missing!r}: {remedy} (exit code {done.exit_code})"
        raise NotMeasured(f"{told}\n{output_of(done)}", "unsupported")


def output_of(done: Executed) -> str:
    """The beginning of what it said."""
    return (done.stdout + done.stderr)[:MOST_OUTPUT]


async def apply_patch(compute: Compute, patch: str, cwd: str, grader_id: str) -> str | None:
    """Apply a diff in ``cwd``; what git says where it does not apply."""
    path = f"{FOLDER}/{grader_id}.patch"
    await compute.write_file(join(cwd, path), patch.encode())
    command = f"git apply --verbose {path}; status=$?; rm -f {path}; exit $status"
    done = await compute.exec(command, cwd=cwd, timeout_sec=120)
    if done.timed_out:
        raise NotMeasured("git apply took more than 120 s", "grader_timeout", retryable=True)
    await _require_program(compute, command, done)
    return output_of(done) if done.exit_code else None
