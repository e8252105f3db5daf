"""SWE-bench's grading: the tests that a change had to mend pass, and those that passed still do.

Jimenez et al. 2024, SWE-bench, https://arxiv.org/abs/2310.06770
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.scoring.context import Case, Compute, Evidence, missing
from engine.scoring.graders.shell import CommandConfig, CommandGrader, Seconds, apply_patch, output_of
from engine.store.scores import Score

_DATASET_NAMES = ("FAIL_TO_PASS", "PASS_TO_PASS")


class SweBenchConfig(CommandConfig, frozen=True, kw_only=True):
    """cmd: what runs the tests whose names are put after it. test_patch: the diff that adds them.

    What is not given is the case's: ``expected`` may also call them FAIL_TO_PASS and PASS_TO_PASS, as the
    data set does, there in JSON's text, too.
    """

    cmd: str = "python -m pytest -q --no-header"
    timeout_sec: Seconds = 1800.0
    test_patch: str = ""
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()


class SweBench(CommandGrader[SweBenchConfig]):
    """``resolved``. A test patch that does not apply fails the episode: what it changes was changed there."""

    kind = "swe-bench"
    Config = SweBenchConfig
    metric = "resolved"

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        config, held = self.config_for(_as_ours(evidence.case)), self.held(compute)
        tests = [*config.fail_to_pass, *config.pass_to_pass]
        if not tests:
            raise missing("neither fail_to_pass nor pass_to_pass names a test")
        if config.test_patch.strip():
            refused = await apply_patch(held, config.test_patch, config.cwd, self.id)
            if refused is not None:
                return self.judged(False, f"test_patch does not apply: {refused}")
        done = await self.run(held, f"{config.cmd} {shlex.join(tests)}", config)
        told = f"{len(config.fail_to_pass)} to mend, {len(config.pass_to_pass)} to keep\n{output_of(done)}"
        return self.judged(done.exit_code == 0, told)


def _as_ours(case: Case) -> Case:
    """The case with the data set's names of its tests as ours."""
    if not isinstance(case.expected, Mapping):
        return case
    theirs = {name.lower(): case.expected[name] for name in _DATASET_NAMES if name in case.expected}
    lists = {name: _parsed(found) for name, found in theirs.items()}
    return replace(case, expected={**lists, **case.expected})


def _parsed(tests: Any) -> Any:
    try:
        return json.loads(tests) if isinstance(tests, str) else tests
    except ValueError:
        return tests
