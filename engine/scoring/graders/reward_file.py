"""Grading by the reward that a task's own verifier publishes in a file, as in Terminal-Bench and Harbor."""

from __future__ import annotations

import json
import posixpath
import shlex

import msgspec

from engine.scoring.context import Compute, ComputeError, Evidence, missing
from engine.scoring.graders.shell import FOLDER, CommandConfig, CommandGrader, output_of
from engine.scoring.usage import finite
from engine.store.scores import Measured, Score, Unmeasured


class RewardFileConfig(CommandConfig, frozen=True, kw_only=True):
    """cmd: the verifier, with the two folders in TESTS_DIR and REWARD_DIR; files: what is put into tests_dir
    for it, path → text. Both folders are emptied first: what an episode left there is no reward."""

    cmd: str = 'sh "$TESTS_DIR"/test.sh'
    files: dict[str, str] = msgspec.field(default_factory=dict)
    tests_dir: str = f"{FOLDER}/tests"
    reward_dir: str = f"{FOLDER}/reward"
    pass_threshold: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, folder in (("tests_dir", self.tests_dir), ("reward_dir", self.reward_dir)):
            if not _may_be_emptied(folder):
                raise ValueError(f"{name}: {folder!r} is not a folder to be emptied")
        for path in self.files:
            if not _stays_within(path):
                raise ValueError(f"files: {path!r} is not a path within tests_dir")


class RewardFile(CommandGrader[RewardFileConfig]):
    """``tests_pass``: the reward in reward.json ({name: number}), else in reward.txt (a number); of several,
    the one called ``reward``, and each as ``reward:<name>``. The verifier's exit code means nothing, and
    where it publishes no reward there is none: never a 0."""

    kind = "reward-file"
    Config = RewardFileConfig
    metric = "tests_pass"

    async def grade(self, evidence: Evidence, compute: Compute | None) -> list[Score]:
        config, held = self.config_for(evidence.case), self.held(compute)
        tests_dir, reward_dir = (
            posixpath.join(config.cwd, folder) for folder in (config.tests_dir, config.reward_dir)
        )
        await self._empty(held, tests_dir, reward_dir)
        for path, text in config.files.items():
            await held.write_file(posixpath.join(tests_dir, path), text.encode())
        given = {"TESTS_DIR": config.tests_dir, "REWARD_DIR": config.reward_dir}
        export = " ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())
        done = await self.run(held, f"export {export}; {config.cmd}", config)
        said = f"exit code {done.exit_code}\n{output_of(done)}"
        rewards = await _published(held, reward_dir)
        if not rewards:
            raise missing(f"the verifier published no reward in {reward_dir}: {said}")
        return self._scores(rewards, config.pass_threshold, said)

    async def _empty(self, compute: Compute, *folders: str) -> None:
        words = shlex.join(folders)
        done = await compute.exec(f"rm -rf {words} && mkdir -p {words}", timeout_sec=60)
        if done.timed_out or done.exit_code:
            raise ComputeError(f"{' and '.join(folders)} cannot be emptied: {output_of(done)}")

    def _scores(self, rewards: dict[str, float], threshold: float, said: str) -> list[Score]:
        told = f"{json.dumps(rewards)}, {said}"
        parts: list[Score] = [
            Measured(grader_id=self.id, metric=f"reward:{name}", value=value, detail=told)
            for name, value in rewards.items()
            if len(rewards) > 1
        ]
        main = next(iter(rewards.values())) if len(rewards) == 1 else rewards.get("reward")
        if main is None:
            none = f'of several rewards none is called "reward": {told}'
            first = Unmeasured(grader_id=self.id, metric=self.metrics[0], reason="unsupported", detail=none)
            return [first, *parts]
        return [self.measured(main, main >= threshold, told), *parts]


async def _published(compute: Compute, folder: str) -> dict[str, float]:
    """The rewards; empty where none, or nothing that is one, was published."""
    found = await _read(compute, f"{folder}/reward.json")
    if found is None:
        value = finite(await _read(compute, f"{folder}/reward.txt") or "")
        return {} if value is None else {"reward": value}
    try:
        rewards = json.loads(found)
    except (ValueError, RecursionError):
        return {}
    rewards = rewards if isinstance(rewards, dict) else {"reward": rewards}
    values = {name: finite(value) for name, value in rewards.items()}
    known = {name: value for name, value in values.items() if value is not None}
    return known if len(known) == len(values) else {}


async def _read(compute: Compute, path: str) -> str | None:
    try:
        return (await compute.read_file(path)).decode(errors="replace")
    except ComputeError:
        return None


def _may_be_emptied(folder: str) -> bool:
    """No folder that is, or holds, the case's own, and none at the root of a file system."""
    path = posixpath.normpath(folder)
    inside = path not in (".", "..") and not path.startswith("../")
    return bool(folder) and inside and path.strip("/") != ""


def _stays_within(path: str) -> bool:
    parts = path.split("/")
    return bool(path.strip("/. ")) and not path.startswith("/") and ".." not in parts and "\0" not in path
