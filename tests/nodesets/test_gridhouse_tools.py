"""env_gridhouse as a host sees it: its panel and its tools."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from engine.components.seeds import firing_key
from tests.nodesets.gridhouse_player import NODESETS, House, nodeset_class

MOVES = [1, 1, 2, 1, 3, 1, 1, 3, 1, 2, 1, 1] * 2


async def walk(house: House, actions: list[Any]) -> list[dict[str, Any]]:
    return [await house.fire("reset")] + [await house.fire("step_discrete", action=a) for a in actions]


def same(one: Any, other: Any) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[port], other[port]) for port in one)


async def test_metadata() -> None:
    metadata = await nodeset_class("env_gridhouse")().get_eval_metadata()
    splits = ["train", "val_seen", "val_unseen"]
    assert metadata["splits"] == splits
    assert metadata["episode_counts"] == dict.fromkeys(splits, 500)
    assert metadata["supports_set_episode"] is True
    house = House()
    assert (await house.panel.on_load())["step_budget"] == metadata["step_budget"]
    assert list((await house.fire("evaluate"))["metrics"]) == metadata["metrics"]


async def test_the_panel_sets_up_the_episode_that_was_chosen() -> None:
    house = House()
    assert (await house.choose("val_seen", 7))["ok"] is True
    current = (await house.panel.on_load())["current_episode"]
    seen = await house.fire("reset")
    assert current == {
        "episode_id": "val_seen_007",
        "episode_index": 7,
        "scene_id": "house_0007",
        "split": "val_seen",
        "instruction": seen["instruction"],
    }


async def test_what_is_not_played_does_not_count_and_unknown_fields_are_ignored() -> None:
    house = House()
    await house.choose("val_seen", 7)
    await house.panel.on_field_change("episode_index", 8)
    state = await house.panel.on_field_change("weather", "rain")
    assert state["current_episode"]["episode_index"] == 7


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"split": "test"}, "split 'test' does not exist; the splits are train, val_seen, val_unseen"),
        ({"index": 500}, "episode_index 500 is not in train, which has 0 to 499"),
        ({"index": "one"}, "episode_index 'one' is not a number"),
        ({"index": 1.5}, "episode_index 1.5 is not a whole number"),
        ({"index": float("nan")}, "episode_index nan is not a whole number"),
        ({"slip": 1.5}, "slip 1.5 is not a probability; it must lie between 0 and 1"),
        ({"slip": "often"}, "slip 'often' is not a number"),
    ],
)
async def test_a_bad_choice_is_refused_by_name(choice: dict[str, Any], words: str) -> None:
    answer = await House().choose(**{"split": "train", "index": 0, **choice})
    assert answer == {"ok": False, "error": words}


async def test_a_choice_may_come_as_text() -> None:
    house = House()
    assert (await house.choose("train", "12", slip="0.5"))["ok"] is True
    assert (await house.panel.on_load())["current_episode"]["episode_index"] == 12


async def test_actions_go_by_number_or_name() -> None:
    names = ["stop", "forward", "turn_left", "turn_right"]
    by_number, by_name = House(), House()
    one = await walk(by_number, [np.int64(a) for a in MOVES])
    other = await walk(by_name, [names[a] for a in MOVES])
    assert all(map(same, one, other))


@pytest.mark.parametrize("action", [4, -1, "jump", None, 1.0, True, [1]])
async def test_an_action_that_does_not_exist(action: Any) -> None:
    house = House()
    await house.fire("reset")
    with pytest.raises(ValueError, match="0 stop, 1 forward, 2 turn_left, 3 turn_right"):
        await house.fire("step_discrete", action=action)


async def test_a_step_tells_what_it_did() -> None:
    house = House()
    await house.choose("val_unseen", 3)
    before = await house.fire("reset")
    turned = await house.fire("step_discrete", action="turn_left")
    assert turned["pose"]["position"] == before["pose"]["position"]
    assert turned["pose"]["orientation"] != before["pose"]["orientation"]
    assert np.linalg.norm(turned["pose"]["orientation"]) == pytest.approx(1.0)
    assert turned["reward"] == 0.0
    assert turned["info"]["executed"] == "turn_left"
    back = await house.fire("step_discrete", action="turn_right")
    assert np.array_equal(back["rgb"], before["rgb"])
    forward = [await house.fire("step_discrete", action="forward") for _ in range(20)]
    blocked = [step["info"]["collided"] for step in forward]
    assert blocked[-1] is True
    assert blocked == sorted(blocked)
    observed = await house.fire("observe_egocentric")
    assert np.array_equal(observed["rgb"], (await house.fire("observe_egocentric"))["rgb"])


async def test_the_expert_earns_the_distance_and_the_bonus() -> None:
    house = House()
    await house.choose("val_unseen", 11)
    await house.fire("reset")
    distance = (await house.fire("step_discrete", action="turn_left"))["info"]["distance_to_goal"]
    earned, terminated = 0.0, False
    while not terminated:
        action = (await house.fire("expert_action"))["action"]
        step = await house.fire("step_discrete", action=action)
        earned, terminated = earned + step["reward"], step["terminated"]
    assert earned == pytest.approx(distance + 10.0)
    scored = await house.fire("evaluate")
    assert scored["metrics"]["success"] == 1.0
    assert scored["verdict"].startswith("stopped in ")
    assert scored["verdict"].endswith(" was 0 m away")


async def test_who_does_not_stop_has_not_succeeded() -> None:
    house = House()
    await house.choose("val_unseen", 11)
    await house.fire("reset")
    while (action := (await house.fire("expert_action"))["action"]) != "stop":
        await house.fire("step_discrete", action=action)
    scored = await house.fire("evaluate")
    assert (scored["metrics"]["success"], scored["metrics"]["oracle_success"]) == (0.0, 1.0)
    assert scored["verdict"].startswith("ran out of steps in ")


async def test_the_seed_decides_the_slips_and_not_the_episode() -> None:
    async def slipping(seed: int, slip: float) -> list[dict[str, Any]]:
        house = House()
        await house.choose("val_unseen", 5, seed=seed, slip=slip)
        return await walk(house, MOVES)

    one, again, other, sure = [await slipping(*x) for x in ((1, 0.5), (1, 0.5), (2, 0.5), (2, 0.0))]
    assert all(map(same, one, again))
    assert not all(map(same, one, other))
    assert same(one[0], other[0])
    assert all(
        step["info"]["executed"] == ("", "forward", "turn_left", "turn_right")[a]
        for step, a in zip(sure[1:], MOVES, strict=True)
    )
    always = await slipping(3, 1.0)
    assert all(
        step["info"]["executed"] != ("", "forward", "turn_left", "turn_right")[a]
        for step, a in zip(always[1:], MOVES, strict=True)
    )


async def test_random_actions_come_from_the_firing_key_alone() -> None:
    async def draw(house: House) -> list[str]:
        keys = [firing_key(7, "agent", firing) for firing in range(400)]
        return [(await house.fire("random_action", key=key))["action"] for key in keys]

    drawn = await draw(House())
    assert drawn == await draw(House())
    assert set(drawn) == {"stop", "forward", "turn_left", "turn_right"}
    assert drawn.count("stop") < 30


PLAY = """
import asyncio, json, sys
from hashlib import blake2b
from tests.nodesets.gridhouse_player import House

async def main(order):
    house, digests = House(), {}
    for index in order:
        digest = blake2b(digest_size=8)
        await house.choose("val_unseen", index, seed=index, slip=0.2)
        seen = await house.fire("reset")
        for action in [1, 2, 1, 1, 3, 1] * 4:
            digest.update(seen["rgb"].tobytes())
            seen = await house.fire("step_discrete", action=action)
        digest.update(repr(await house.fire("evaluate")).encode())
        digests[index] = digest.hexdigest()
    print(json.dumps(digests, sort_keys=True))

asyncio.run(main(json.loads(sys.argv[1])))
"""


def test_neither_the_process_nor_what_it_played_before_matters() -> None:
    def play(order: list[int]) -> dict[str, str]:
        done = subprocess.run(
            [sys.executable, "-c", PLAY, json.dumps(order)],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            cwd=NODESETS.parent,
        )
        digests: dict[str, str] = json.loads(done.stdout)
        return digests

    forth, back = play([0, 7, 19, 7]), play([19, 7, 0])
    assert forth == back
    assert len(set(forth.values())) == 3
