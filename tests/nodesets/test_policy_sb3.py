"""policy_sb3: the policy that comes with it, each kind that the library saves, and what is refused."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from tests.nodesets.batched_tool import BatchedTool
from tests.nodesets.gym_player import nodeset_class

package = nodeset_class("policy_sb3").__module__
model: Any = importlib.import_module(package + ".model")
training: Any = importlib.import_module(package + ".train_cartpole")
UPRIGHT = [0.0, 0.0, 0.01, 0.0]


class Still(gymnasium.Env[Any, Any]):
    """Nothing happens in it."""

    def __init__(self, observation: spaces.Space[Any], action: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = observation, action

    def reset(self, **options: Any) -> Any:
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        return self.observation_space.sample(), 0.0, False, False, {}


BOX = spaces.Box(-1, 1, (3,))
DICT = spaces.Dict({"arm": BOX, "goal": spaces.Box(0, 9, (2,))})
ARM = spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 4.0], np.float32))


def saved(folder: Path, algorithm: str, observation: Any = BOX, action: Any = ARM, **options: Any) -> str:
    """A policy with weights of its beginning."""
    import stable_baselines3

    words = "MultiInputPolicy" if isinstance(observation, spaces.Dict) else "MlpPolicy"
    small = {"buffer_size": 10} if algorithm in ("DQN", "SAC", "TD3", "DDPG") else {}
    kind = getattr(stable_baselines3, algorithm)
    kind(words, Still(observation, action), seed=0, device="cpu", **small, **options).save(folder / "p.zip")
    return str(folder / "p.zip")


async def steps_of_cartpole(tool: BatchedTool, episodes: int) -> list[int]:
    found = []
    for seed in range(episodes):
        env = gymnasium.make("CartPole-v1")
        seen, _ = env.reset(seed=seed)
        over, steps = False, 0
        while not over:
            action = (await tool.act({"observation": seen}))[0]["action"]
            seen, _, fell, late, _ = env.step(action)
            over, steps = fell or late, steps + 1
        env.close()
        found.append(steps)
    return found


async def test_the_policy_that_comes_with_it_balances() -> None:
    assert await steps_of_cartpole(await BatchedTool("policy_sb3").ready(), 1) == [500]


async def test_it_acts_as_the_library_itself_does() -> None:
    tool = await BatchedTool("policy_sb3").ready()
    rows = np.random.default_rng(0).uniform(-0.2, 0.2, (200, 4)).astype(np.float32)
    expected, _ = tool.tool.policy.predict(rows, deterministic=True)
    found = await tool.act(*({"observation": row.tolist()} for row in rows))
    assert [output["action"] for output in found] == expected.tolist()
    assert set(expected) == {0, 1}


async def test_actions_are_drawn_from_the_row_s_key_with_the_policy_s_chances() -> None:
    tool = await BatchedTool("policy_sb3", deterministic=False).ready()
    found = await tool.act(*({"observation": UPRIGHT, "_key": key} for key in range(2000)))
    chance = float(np.exp(found[0]["scores"][1]))
    share = np.mean([output["action"] for output in found])
    assert abs(share - chance) < 4 * np.sqrt(chance * (1 - chance) / 2000)
    again = await tool.act(*({"observation": UPRIGHT, "_key": key} for key in reversed(range(2000))))
    assert [o["action"] for o in again[::-1]] == [o["action"] for o in found]


async def test_a_batch_changes_no_row() -> None:
    verdict = await (await BatchedTool("policy_sb3").ready()).verdict()
    assert (verdict.label, verdict.regime in ("free", "padded", "rows")) == ("exact", True), verdict


@pytest.mark.parametrize(
    ("algorithm", "observation", "action", "kind"),
    [
        ("PPO", DICT, ARM, "gaussian"),
        ("A2C", BOX, spaces.Discrete(3, start=5), "categorical"),
        ("PPO", BOX, spaces.MultiDiscrete([2, 3]), "actor"),
        ("DQN", BOX, spaces.Discrete(4), "values"),
        ("SAC", DICT, ARM, "actor"),
        ("TD3", BOX, ARM, "actor"),
    ],
)
async def test_every_kind_of_policy_acts_as_in_the_library(
    algorithm: str, observation: Any, action: Any, kind: str, tmp_path: Path
) -> None:
    path = saved(tmp_path, algorithm, observation, action)
    tool = await BatchedTool("policy_sb3", path=path, algorithm=algorithm).ready()
    assert tool.tool.brain.kind == kind
    rows = tool.tool.sample_rows(5, np.random.default_rng(0))
    found = [output["action"] for output in await tool.act(*rows)]
    expected = [tool.tool.policy.predict(row["observation"], deterministic=True)[0] for row in rows]
    offset = int(action.start) if isinstance(action, spaces.Discrete) else 0
    assert np.allclose(np.array(found), np.array(expected) + offset, atol=1e-5)
    assert all(action.contains(np.asarray(one, action.dtype)) for one in found)


async def test_a_gaussian_s_draws_spread_around_its_mean_within_the_bounds(tmp_path: Path) -> None:
    config = {"path": saved(tmp_path, "PPO"), "deterministic": False}
    tool = await BatchedTool("policy_sb3", **config).ready()
    found = await tool.act(*({"observation": [0.1, 0.2, 0.3], "_key": key} for key in range(1000)))
    drawn = np.stack([output["action"] for output in found])
    assert drawn[:, 0].std() == pytest.approx(0.88, abs=0.1)  # 1 before it is clipped at 2
    assert drawn[:, 1].min() == 0


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"path": "absent.zip"}, "absent.zip: there is no such policy file"),
        ({"path": "act.py"}, "act.py, as PPO: ValueError"),
        ({"algorithm": "DQN"}, "cartpole.zip, as DQN: "),
        ({"algorithm": "common"}, "config algorithm is 'common', which stable-baselines3 does not have"),
        ({"deterministic": "no"}, "config deterministic is 'no'; it is true or false"),
    ],
)
async def test_a_config_that_cannot_be_used_is_named(config: dict[str, Any], error: str) -> None:
    with pytest.raises((ValueError, model.PolicyFileError), match=error):
        await BatchedTool("policy_sb3", **config).ready()


async def test_what_is_no_distribution_draws_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path, "DQN", action=spaces.Discrete(2))
    with pytest.raises(ValueError, match=r"p.zip is no distribution over a Discrete or Box space"):
        await BatchedTool("policy_sb3", path=path, algorithm="DQN", deterministic=False).ready()


@pytest.mark.parametrize(
    ("observation", "given", "error"),
    [
        (BOX, [1, 2], r"an observation has shape \(2,\); the policy takes \(3,\)"),
        (DICT, [1, 2, 3], "an observation is no dict with arm, goal"),
        (DICT, {"arm": [1, 2, 3]}, "an observation is no dict with arm, goal"),
    ],
)
async def test_an_observation_of_another_shape_is_refused(
    observation: Any, given: Any, error: str, tmp_path: Path
) -> None:
    tool = await BatchedTool("policy_sb3", path=saved(tmp_path, "PPO", observation)).ready()
    with pytest.raises(ValueError, match=error):
        await tool.act({"observation": given})


async def test_a_missing_library_is_said_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(ImportError, match=r"policy_sb3 needs stable_baselines3, .* 'evaltower\[models\]'"):
        await nodeset_class("policy_sb3")().initialize()


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_the_training_script_gives_the_same_policy_twice_and_a_good_one(tmp_path: Path) -> None:
    import torch

    one, two = (training.train(2048).policy.state_dict() for _ in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)
    training.save(training.train(), tmp_path / "cartpole.zip")
    tool = await BatchedTool("policy_sb3", path=str(tmp_path / "cartpole.zip")).ready()
    assert np.mean(await steps_of_cartpole(tool, 10)) > 475
