"""Graders that ask a command, by how it ends or by what it prints."""

from __future__ import annotations

from engine.scoring.context import Compute, Evidence, NotMeasured
from engine.scoring.graders.base import check_pattern, search
from engine.scoring.graders.shell import CommandConfig, CommandGrader, apply_patch, output_of
from engine.scoring.usage import finite
from engine.store.scores import Score


class TestsPass(CommandGrader[CommandConfig]):
    """``tests_pass``: the command ends with 0."""

    kind = "tests-pass"
    Config = CommandConfig
    metric = "tests_pass"

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        config = self.config_for(evidence.case)
        done = await self.run(self.held(compute), config.cmd, config)
        return self.judged(done.exit_code == 0, output_of(done))


class ShellConfig(CommandConfig, frozen=True, kw_only=True):
    """apply_patch: a diff to apply first. pass_pattern: a regular expression that what the command prints
    must match, whatever its exit code."""

    apply_patch: str = ""
    pass_pattern: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pattern("pass_pattern", self.pass_pattern)


class Command(CommandGrader[ShellConfig]):
    kind = "command"
    Config = ShellConfig
    metric = "command"

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        config, held = self.config_for(evidence.case), self.held(compute)
        if config.apply_patch.strip():
            refused = await apply_patch(held, config.apply_patch, config.cwd, self.id)
            if refused is not None:
                return self.judged(False, f"apply_patch failed: {refused}")
        done = await self.run(held, config.cmd, config)
        passed = done.exit_code == 0
        if config.pass_pattern:
            passed = await search(config.pass_pattern, done.stdout + done.stderr) is not None
        return self.judged(passed, output_of(done))


class ScriptScoreConfig(CommandConfig, frozen=True, kw_only=True):
    """pattern: a regular expression whose first group is the number. pass_threshold: the least value
    that passes."""

    pattern: str = r"SCORE=(\S+)"
    pass_threshold: float = 0.6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pattern("pattern", self.pattern, groups=1)


class ScriptScore(CommandGrader[ScriptScoreConfig]):
    """A number that the command prints. One that prints none has measured nothing."""

    kind = "script-score"
    Config = ScriptScoreConfig
    metric = "score"

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        config = self.config_for(evidence.case)
        done = await self.run(self.held(compute), config.cmd, config)
        found = await search(config.pattern, done.stdout + done.stderr)
        value = finite(found.groups[0]) if found else None
        if value is None:
            told = f"nothing that it printed is a number by {config.pattern!r} (exit code {done.exit_code})"
            raise NotMeasured(f"{told}\n{output_of(done)}", "grader_error")
        return [self.measured(value, value >= config.pass_threshold, output_of(done))]
