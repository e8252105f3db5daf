"""env_gymnasium over every shape of Gym API there has been."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.components import SimulatorFailed, WrongChoice
from tests.nodesets.gym_fakes import LAST
from tests.nodesets.gym_player import FAKES, Player


@pytest.fixture
def player() -> Player:
    return Player()


async def observations(player: Player, seed: int, **selectors: Any) -> list[Any]:
    """What an episode of action 0 shows, from reset to its end."""
    answer = await player.choose(seed, **selectors)
    assert answer["ok"], answer
    seen = [(await player.fire("reset"))["observation"]]
    done = False
    while not done:
        out = await player.fire("step_discrete", action=0)
        seen.append(out["observation"])
        done = out["done"]
    return [np.asarray(o).tolist() for o in seen]


@pytest.mark.parametrize(
    ("fake", "seeded_at"),
    [
        ("NewApi", ["reset"]),
        ("OldApi", ["seed"]),
        ("SeedAtMake", ["make"]),
        ("OldWrapper", ["seed"]),
        ("GlobalChance", []),
        ("ChildOfNewApi", ["reset"]),
    ],
)
async def test_same_seed_same_episode_wherever_the_seed_is_taken(
    player: Player, fake: str, seeded_at: list[str]
) -> None:
    one = await observations(player, 7, env_id=FAKES + fake)
    state = await player.panel.on_load()
    two = await observations(player, 7, env_id=FAKES + fake)
    other = await observations(player, 8, env_id=FAKES + fake)
    assert len(one) == LAST + 1
    assert one == two != other
    assert state["current_episode"]["seeded_at"] == seeded_at


async def test_a_wrapper_of_a_new_environment_is_seeded_at_reset(player: Player) -> None:
    await player.choose(env_id=FAKES + "OldWrapper", env_kwargs='{"inner": "NewApi"}')
    assert (await player.panel.on_load())["current_episode"]["seeded_at"] == ["reset"]


async def test_env_seed_wins_over_the_episodes_seed(player: Player) -> None:
    one = await observations(player, 7, env_id=FAKES + "NewApi", env_seed="4")
    two = await observations(player, 8, env_id=FAKES + "NewApi", env_seed=4)
    assert one == two == await observations(player, 4, env_id=FAKES + "NewApi")


@pytest.mark.parametrize(
    ("fake", "terminated", "truncated"),
    [("NewApi", False, True), ("OldApi", True, False), ("OldTimeLimit", False, True)],
)
async def test_ends_of_five_and_four_values(
    player: Player, fake: str, terminated: bool, truncated: bool
) -> None:
    metrics = await player.episode("random_action", 1, env_id=FAKES + fake)
    assert metrics == {
        "return": 0.5 * LAST,
        "length": LAST,
        "terminated": terminated,
        "truncated": truncated,
    }


@pytest.mark.parametrize(
    ("env_id", "defined"),
    [
        (FAKES + "NewApi", False),
        ("Pendulum-v1", False),
        ("CliffWalking-v1", False),
        ("CartPole-v1", True),
        ("FrozenLake-v1", True),
        ("Taxi-v4", True),
        ("BabyAI-GoToLocal-v0", True),
        ("MiniGrid-Empty-5x5-v0", True),
        ("minigrid.envs:EmptyEnv", True),
    ],
)
async def test_success_is_told_only_where_it_is_defined(player: Player, env_id: str, defined: bool) -> None:
    """A return above 0 is no success, in an environment that says nothing of one."""
    await player.choose(env_id=env_id)
    await player.fire("reset")
    told = await player.fire("evaluate", trigger=None)
    assert ("success" in told, "success" in told["metrics"]) == (defined, defined)


async def test_text_environment_with_nothing_but_reset_and_step(player: Player) -> None:
    await player.choose(env_id=FAKES + "Bare")
    assert (await player.fire("reset"))["observation"] == "You are in a kitchen."
    assert (await player.fire("step_discrete", action="wait"))["done"] is False
    out = await player.fire("step_discrete", action="leave")
    assert (out["observation"], out["reward"], out["done"]) == ("You leave.", 1.0, True)
    with pytest.raises(TypeError, match="action_space is None"):
        await player.fire("random_action", trigger=None)
    with pytest.raises(RuntimeError, match=r"ended at step 2: wire `done` to the loop's `stop`"):
        await player.fire("step_discrete", action="wait")


async def test_an_observation_that_is_a_pair_is_not_taken_for_observation_and_info(player: Player) -> None:
    await player.choose(env_id=FAKES + "PairObservation")
    out = await player.fire("reset")
    assert out["observation"][0].tolist() == [0, 0]
    assert out["observation"][1]["map"].tolist() == [1, 1, 1]
    assert out["info"] == {}


async def test_values_of_every_kind_travel(player: Player) -> None:
    await player.choose(env_id=FAKES + "Odd")
    out = await player.fire("reset")
    assert out["observation"].pop("lazy").tolist() == [0, 1, 2]
    assert out["observation"] == {"1": [4, 5], "way": 1, "when": None}
    assert out["info"] == {"object": "<builtins.object>", "names": ["a", "b"], "words": ["x"]}
    assert out["instruction"] == "go to the red ball"
    assert (await player.panel.on_load())["current_episode"]["instruction"] == "go to the red ball"


async def test_actions_by_name_number_and_array_and_the_environments_own_success(player: Player) -> None:
    await player.choose(env_id=FAKES + "Odd")
    await player.fire("reset")
    for action in (1, "1", "right", " RIGHT ", np.int64(1), np.array([1])):
        out = await player.fire("step_discrete", action=action)
        assert (out["info"]["is_success"], out["reward"]) == (True, 0.25)
    assert (await player.fire("evaluate", trigger=None))["success"] is True


@pytest.mark.parametrize("action", [3, -1, "up", 0.5, None, [0, 1], "nan", float("inf")])
async def test_an_action_that_is_none_of_the_environments_is_refused(player: Player, action: Any) -> None:
    await player.choose(env_id=FAKES + "Odd")
    await player.fire("reset")
    with pytest.raises(ValueError, match="whole number from 0 to 2 or one of left, right, forward"):
        await player.fire("step_discrete", action=action)


async def test_a_continuous_action_takes_the_dtype_and_shape_of_the_box(player: Player) -> None:
    await player.choose(env_id=FAKES + "Continuous")
    await player.fire("reset")
    sent = (await player.fire("step_continuous", action=[[0.5, 2]]))["info"]["action"]
    assert (sent.dtype, sent.tolist()) == (np.float32, [0.5, 2.0])
    with pytest.raises(ValueError, match="reshape"):
        await player.fire("step_continuous", action=[1, 2, 3])
    drawn = (await player.fire("random_action", trigger=None))["action"]
    assert drawn.dtype == np.float32
    assert (drawn >= [-1, 0]).all()
    assert (drawn <= [1, 5]).all()


async def test_frames_on_request_of_new_and_old_render(player: Player) -> None:
    await player.choose(env_id=FAKES + "ChildOfNewApi", frames="render")
    assert (await player.fire("reset"))["rgb"].shape == (4, 5, 3)
    assert (await player.fire("step_discrete", action=0))["rgb"].max() == 1
    assert (await player.fire("render", trigger=None))["rgb"].max() == 1
    await player.choose(env_id=FAKES + "OldApi", frames="render")
    assert (await player.fire("reset"))["rgb"].shape == (4, 5, 3)
    await player.choose(env_id=FAKES + "NewApi")
    assert "rgb" not in await player.fire("reset")
    with pytest.raises(WrongChoice, match="was it made with frames=render"):
        await player.fire("render", trigger=None)
    answer = await player.choose(env_id=FAKES + "Bare", frames="render")
    assert "has no render(): run it with frames=none" in answer["error"]


async def test_what_was_asked_for_is_blamed_where_its_first_frame_cannot_be_drawn(player: Player) -> None:
    chosen = {"env_id": FAKES + "Drawn", "frames": "render"}
    assert (await player.choose(**chosen, env_kwargs={"width": 5}))["ok"]
    assert (await player.fire("reset"))["rgb"].shape == (4, 5, 3)
    answer = await player.choose(**chosen, env_kwargs={"width": -5})
    assert answer["error"] == (
        f'selector env_kwargs is {{"width": -5}}: {FAKES}Drawn draws no frame with that:'
        " ValueError: negative dimensions are not allowed"
    )
    answer = await player.choose(env_id=FAKES + "Drawn", env_kwargs={"width": -5})
    assert answer["ok"]
    with pytest.raises(SimulatorFailed, match="RuntimeError: no GPU"):
        await player.choose(env_id=FAKES + "DrawnWrongly", frames="render")


async def test_a_graph_that_asks_for_it_is_told_likewise(player: Player) -> None:
    await player.choose(frames="render")
    config = {"env_id": FAKES + "Drawn", "env_kwargs": {"width": -5}}
    with pytest.raises(WrongChoice, match=r"env_kwargs is .*negative dimensions"):
        await player.fire("reset", config)


@pytest.mark.parametrize(
    ("fake", "error"),
    [
        ("ThreeValues", r"step\(\) returned 3 values"),
        ("TwoRewards", r"reward is \[1.0, 2.0\], not one number"),
    ],
)
async def test_nonsense_from_step_names_the_environment(player: Player, fake: str, error: str) -> None:
    await player.choose(env_id=FAKES + fake)
    await player.fire("reset")
    with pytest.raises(TypeError, match=f"{fake}: .*{error}"):
        await player.fire("step_discrete", action=0)


async def test_each_episode_has_a_fresh_environment_unless_reuse_is_chosen(player: Player) -> None:
    async def first_observation(**selectors: Any) -> Any:
        await player.choose(env_id=FAKES + "Counting", **selectors)
        return (await player.fire("reset"))["observation"]

    assert [await first_observation() for _ in range(3)] == [1, 1, 1]
    assert [await first_observation(reuse="yes") for _ in range(3)] == [1, 2, 3]
    kept = player.nodeset.session.episode.adapter.env
    assert await first_observation(reuse="yes", frames="render") == 1
    assert kept.closed
    assert await first_observation() == 1


async def test_reset_fired_again_starts_the_episode_anew(player: Player) -> None:
    await player.choose(env_id=FAKES + "NewApi")
    first = await player.fire("reset")
    await player.fire("step_discrete", action=0)
    again = await player.fire("reset")
    assert again["observation"].tolist() == first["observation"].tolist()
    assert player.nodeset.session.episode.steps == 0


async def test_environments_are_closed_and_a_failing_close_disturbs_nothing(player: Player) -> None:
    await player.choose(env_id=FAKES + "NewApi")
    env = player.nodeset.session.episode.adapter.env
    await player.choose(env_id=FAKES + "CloseFails")
    assert env.closed
    assert (await player.choose(env_id=FAKES + "NewApi"))["ok"]
    env = player.nodeset.session.episode.adapter.env
    await player.nodeset.shutdown()
    assert env.closed


@pytest.mark.parametrize(
    ("fake", "honoured"),
    [
        ("NewApi", {"make": "absent", "seed": "absent", "reset": "honoured"}),
        ("OldApi", {"make": "absent", "seed": "honoured", "reset": "absent"}),
        ("SeedAtMake", {"make": "honoured", "seed": "absent", "reset": "absent"}),
        ("SeedIgnored", {"make": "absent", "seed": "absent", "reset": "ignored"}),
        ("PairObservation", {"make": "absent", "seed": "absent", "reset": "absent"}),
        ("Odd", {"make": "absent", "seed": "absent", "reset": "honoured"}),
    ],
)
async def test_what_is_done_with_a_seed_is_measured(
    player: Player, fake: str, honoured: dict[str, str]
) -> None:
    await player.panel.on_field_change("env_id", FAKES + fake)
    assert (await player.panel.on_action("check_seed", {}))["honoured"] == honoured
