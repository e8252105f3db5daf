"""What an operator selects in env_gymnasium, and what is said when it cannot be had."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from engine.components import SimulatorFailed
from tests.nodesets.gym_player import FAKES, NODESETS, Player


@pytest.fixture
def player() -> Player:
    return Player()


@pytest.mark.parametrize(
    ("selectors", "error"),
    [
        ({"env_kwargs": "{"}, "selector env_kwargs is not JSON"),
        ({"env_kwargs": "[1]"}, "selector env_kwargs must be a JSON object"),
        ({"frames": "all"}, "selector frames is 'all'; it takes none, render"),
        ({"reuse": "maybe"}, "selector reuse is 'maybe'; it takes no, yes"),
        ({"env_seed": "-1"}, "selector env_seed is '-1'; it takes a whole number"),
        ({"env_seed": "four"}, "selector env_seed is 'four'; it takes a whole number"),
        ({"env_id": "no_such_package.envs:Env"}, "no_such_package.envs:Env needs no_such_package"),
        ({"env_id": FAKES + "Nothing"}, "has no 'Nothing'"),
        (
            {"env_id": FAKES + "NewApi", "env_kwargs": '{"size": 3}'},
            "selector env_kwargs: .*NewApi: TypeError: .*'size'",
        ),
    ],
)
async def test_what_cannot_be_played_is_said_in_one_line_and_the_next_is_played(
    player: Player, selectors: dict[str, Any], error: str
) -> None:
    answer = await player.choose(**selectors)
    assert answer["ok"] is False
    assert re.search(error, answer["error"])
    assert "\n" not in answer["error"]
    with pytest.raises(RuntimeError, match="no episode has begun"):
        await player.fire("step_discrete", action=0)
    assert (await player.choose(env_id=FAKES + "NewApi"))["ok"]


async def test_an_environment_that_fails_is_no_mistake_of_the_operators(player: Player) -> None:
    with pytest.raises(SimulatorFailed, match="the simulator failed: RuntimeError: no licence"):
        await player.choose(env_id=FAKES + "ResetFails")
    with pytest.raises(RuntimeError, match="no episode has begun"):
        await player.fire("step_discrete", action=0)
    assert (await player.choose(env_id=FAKES + "NewApi"))["ok"]


async def test_nothing_selected_for_one_episode_is_left_over_for_the_next(player: Player) -> None:
    await player.choose(env_id=FAKES + "NewApi", env_kwargs='{"length": 2}', env_seed=4, frames="render")
    await player.choose(5, env_id=FAKES + "NewApi")
    choice = player.nodeset.session.episode.choice
    assert (choice.seed, choice.frames, choice.env_kwargs) == (5, "none", {})


async def test_what_was_selected_is_played_again_as_it_is(player: Player) -> None:
    await player.choose(5, env_id=FAKES + "NewApi")
    before = player.nodeset.session.episode
    assert (await player.panel.on_action("play", {}))["ok"]
    assert player.nodeset.session.episode is not before
    assert player.nodeset.session.episode.choice == before.choice


async def test_the_graphs_reset_node_names_the_environment_where_the_operator_does_not(
    player: Player,
) -> None:
    config = {"env_id": FAKES + "NewApi", "env_kwargs": {"length": 2}}
    assert (await player.choose(9))["ok"]
    assert await player.panel.on_load() == {"current_episode": {}, "step_budget": None}
    await player.fire("reset", config)
    episode = player.nodeset.session.episode
    assert (episode.choice.env_id, episode.choice.seed, episode.adapter.env.length) == (
        FAKES + "NewApi",
        9,
        2,
    )

    await player.choose(9, env_kwargs={"length": 3})
    await player.fire("reset", config)
    assert player.nodeset.session.episode.adapter.env.length == 3

    await player.choose(9, env_id=FAKES + "NewApi")
    await player.fire("reset", config)
    assert player.nodeset.session.episode.adapter.env.length == 6

    await player.choose(9)
    with pytest.raises(ValueError, match="no environment is chosen: pass --select env_id"):
        await player.fire("reset")


async def test_the_step_limit_is_the_environments(player: Player) -> None:
    await player.choose(env_id="FrozenLake-v1")
    assert (await player.panel.on_load())["step_budget"] == 100
    await player.choose(env_id="BabyAI-GoToLocal-v0")
    state = await player.panel.on_load()
    assert state["step_budget"] == 64
    assert state["current_episode"]["instruction"].startswith("go to")
    await player.choose(env_id="CliffWalking-v1")
    assert (await player.panel.on_load())["step_budget"] is None


@pytest.mark.parametrize(
    ("env_id", "lacking"),
    [
        ("FrozenLake-v1", "gymnasium"),
        ("BabyAI-GoToLocal-v0", "minigrid"),
        ("MiniGrid-Empty-5x5-v0", "minigrid"),
    ],
)
async def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    player: Player, monkeypatch: pytest.MonkeyPatch, env_id: str, lacking: str
) -> None:
    for name in ("gymnasium", "gym", "minigrid"):
        if lacking in ("gymnasium", name):
            monkeypatch.setitem(sys.modules, name, None)
    answer = await player.choose(env_id=env_id)
    assert answer["ok"] is False
    assert f"{env_id} needs {lacking}" in answer["error"]
    assert "evaltower[gym]" in answer["error"]
    assert "EVALTOWER_GYM_PYTHON" in answer["error"]


async def test_unregistered_ids_are_refused_with_the_librarys_own_words(player: Player) -> None:
    assert "NameNotFound" in (await player.choose(env_id="FrozenPond-v1"))["error"]
    assert (await player.choose(env_id="minigrid:MiniGrid-Empty-5x5-v0"))["ok"]


async def test_unknown_actions_are_refused(player: Player) -> None:
    answer = await player.panel.on_action("rewind", {})
    assert answer == {
        "ok": False,
        "error": "env_gymnasium has no action 'rewind'; it has play and check_seed",
    }


@pytest.mark.parametrize("name", ["env_gymnasium", "policy_torch"])
def test_listing_a_nodeset_needs_numpy_alone(name: str) -> None:
    code = (
        "import sys; from engine.components.loading import load_nodeset;"
        f"load_nodeset({str(NODESETS / name)!r}, {name!r}).get_tools();"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'gymnasium', 'gym', 'minigrid', 'torch'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=NODESETS.parent
    )
    assert done.stdout.strip() == "[]"


async def test_metadata(player: Player) -> None:
    metadata = await player.nodeset.get_eval_metadata()
    assert metadata["episode_counts"] == {"default": 1000}
    assert player.nodeset.parallelism == "replicated"
