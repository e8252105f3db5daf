"""The agents of env_gymnasium on real environments, against exact figures and known behaviour."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np
import pytest

from engine.components import WrongChoice
from tests.nodesets.gym_player import FAKES, Player, nodeset_class

planning: Any = importlib.import_module(nodeset_class("env_gymnasium").__module__ + ".planning")


@pytest.fixture
def player() -> Player:
    return Player()


@pytest.mark.parametrize(
    ("env_id", "optimum"),
    [
        # Our own backward induction over env.P, checked below against enumeration; 4x4 and 8x8 also by
        # field measurement (0.741 +- 0.019 over 2000 episodes). CliffWalking's is the path's length.
        ("FrozenLake-v1", 0.74419),
        ("FrozenLake8x8-v1", 0.91322),
        ("CliffWalking-v1", -13.0),
    ],
)
async def test_the_exact_optimum_at_the_start(player: Player, env_id: str, optimum: float) -> None:
    await player.choose(env_id=env_id)
    await player.fire("reset")
    value = (await player.fire("optimal_action", trigger=None))["value"]
    assert value == pytest.approx(optimum, abs=5e-6)


def random_table(rng: np.random.Generator, states: int, actions: int) -> dict[int, Any]:
    def outcomes() -> list[tuple[float, int, float, bool]]:
        chances = rng.dirichlet([1, 1])
        return [(p, int(rng.integers(states)), rng.normal(), bool(rng.random() < 0.3)) for p in chances]

    return {s: {a: outcomes() for a in range(actions)} for s in range(states)}


@pytest.mark.parametrize("seed", range(5))
def test_the_planner_is_as_good_as_the_best_of_all_plans(seed: int) -> None:
    states, actions, horizon = 3, 2, 3
    table = random_table(np.random.default_rng(seed), states, actions)
    cells = list(itertools.product(range(1, horizon + 1), range(states)))

    def worth(plan: dict[Any, int], state: int, left: int) -> float:
        if left == 0:
            return 0.0
        return sum(
            p * (reward + (0 if done else worth(plan, after, left - 1)))
            for p, after, reward, done in table[state][plan[left, state]]
        )

    plans = (dict(zip(cells, moves, strict=True)) for moves in itertools.product(range(actions), repeat=9))
    best = max(worth(plan, 0, horizon) for plan in plans)
    planner = planning.Planner(table, horizon)
    assert planner.value(0, horizon) == pytest.approx(best)
    own = {(left, state): planner.action(state, left) for left, state in cells}
    assert worth(own, 0, horizon) == pytest.approx(best)


async def test_optimal_play_of_frozenlake_reaches_the_optimum(player: Player) -> None:
    """0.7442 of 400 episodes; the standard error is 0.022."""
    metrics = [await player.episode("optimal_action", seed, env_id="FrozenLake-v1") for seed in range(400)]
    successes = sum(m["success"] for m in metrics)
    assert abs(successes / 400 - 0.7442) < 3 * 0.0218
    assert all(m["return"] == m["success"] for m in metrics)


@pytest.mark.parametrize("level", ["GoToLocal", "OpenRedDoor", "PickupLoc", "PutNextLocal", "UnlockLocal"])
async def test_the_babyai_bot_succeeds_and_each_episode_has_its_own(player: Player, level: str) -> None:
    bots = []
    for seed in range(10):
        metrics = await player.episode("babyai_bot_action", seed, env_id=f"BabyAI-{level}-v0")
        assert metrics["success"] == 1
        assert 0 < metrics["return"] == pytest.approx(1 - 0.9 * metrics["length"] / limit(player))
        bots.append(player.nodeset.session.episode.agents["babyai"][0])
    assert len({id(bot) for bot in bots}) == 10


def limit(player: Player) -> int:
    step_limit: int = player.nodeset.session.episode.step_limit
    return step_limit


async def test_the_bot_follows_what_another_agent_did(player: Player) -> None:
    """After five random moves that it had no part in, it still finishes the mission."""
    for seed in range(10):
        await player.choose(seed, env_id="BabyAI-GoToLocal-v0")
        await player.fire("reset")
        done = False
        for turn in itertools.count():
            action = (await player.fire("babyai_bot_action", trigger=None))["action"]
            if turn < 5:
                action = int(np.random.default_rng([seed, turn]).integers(3))
            done = (await player.fire("step_discrete", action=action))["done"]
            if done:
                break
        assert player.nodeset.session.episode.metrics()["success"] == 1


async def test_agents_say_what_they_cannot_play(player: Player) -> None:
    await player.choose(env_id=FAKES + "NewApi")
    await player.fire("reset")
    with pytest.raises(WrongChoice, match="is not a BabyAI level"):
        await player.fire("babyai_bot_action", trigger=None)
    with pytest.raises(WrongChoice, match="which has no transition table"):
        await player.fire("optimal_action", trigger=None)


async def test_a_level_that_breaks_the_bot_is_named(player: Player) -> None:
    with pytest.raises(RuntimeError, match="the BabyAI bot failed on BabyAI-KeyInBox-v0: AssertionError"):
        await player.episode("babyai_bot_action", 1, env_id="BabyAI-KeyInBox-v0")


async def test_the_same_key_draws_the_same_action(player: Player) -> None:
    episodes = [await player.episode("random_action", 3, env_id="BabyAI-GoToLocal-v0") for _ in range(2)]
    assert episodes[0] == episodes[1]


async def test_a_rule_of_one_line_balances_the_pole(player: Player) -> None:
    assert (await player.episode("rule_action", 3, env_id="CartPole-v1"))["return"] == 500


async def test_an_agent_that_cannot_play_what_was_selected_says_what_it_can(player: Player) -> None:
    for agent, env_id, told in (
        (
            "rule_action",
            "Taxi-v4",
            "env_id is 'Taxi-v4', for which there is no rule; there is one for Acrobot, ",
        ),
        ("optimal_action", "CartPole-v1", "env_id is 'CartPole-v1', which has no transition table"),
    ):
        await player.choose(env_id=env_id)
        await player.fire("reset")
        with pytest.raises(WrongChoice) as caught:
            await player.fire(agent, trigger=None)
        assert str(caught.value).startswith(told)


async def test_a_rule_is_chosen_by_the_environment_or_by_name(player: Player) -> None:
    await player.choose(env_id="CartPole-v1")
    await player.fire("reset")
    with pytest.raises(WrongChoice, match="config rule is 'Walker'; it takes Acrobot, CartPole"):
        await player.fire("rule_action", {"rule": "Walker"}, trigger=None)
    assert (await player.fire("rule_action", {"rule": "MountainCar"}, trigger=None))["action"] in (0, 2)
