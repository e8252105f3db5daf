"""What graders that run commands in the episode's environment share."""

from __future__ import annotations

from posixpath import join
from typing import Annotated, TypeVar

import msgspec

from engine.scoring.context import Compute, ComputeUnsupported, Executed, NotMeasured, missing
from engine.scoring.graders.base import Config, Grader

FOLDER = ".evaltower"
"""In the working folder; what a grader puts there is gone when it ends."""
MOST_OUTPUT = 2000

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
    needs_compute = True

    def held(self, compute: Compute | None) -> Compute:
        """Raises ComputeUnsupported where there is none: never a 0."""
        if compute is None:
            raise ComputeUnsupported(f"{self.kind} works in the episode's environment, and there is none")
        return compute

    async def run(self, compute: Compute, command: str, config: CommandConfig) -> Executed:
        """The command line, ended. Raises NotMeasured for none, and for one that outlived its time: what the
        clock did is no verdict on the episode."""
        if not command.strip():
            raise missing("there is no command: cmd is empty in the config, and in what the case expects")
        done = await compute.exec(
            command, cwd=config.cwd, timeout_sec=config.timeout_sec, env=config.env or None
        )
        if done.timed_out:
            told = f"the command took more than {config.timeout_sec:g} s\n{output_of(done)}"
            raise NotMeasured(told, "grader_timeout", retryable=True)
        return done


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
    return output_of(done) if done.exit_code else None
