"""policy_gridhouse: its arithmetic, its memory, and how well it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.hosting.selfcheck import check
from nodesets.policy_gridhouse import belief as beliefs
from nodesets.policy_gridhouse import network, planner
from nodesets.policy_gridhouse.belief import (
    DOOR,
    FLOOR,
    FORWARD,
    KINDS,
    LEFT,
    MIDDLE,
    NAMED,
    OBJECT,
    RIGHT,
    SIDE,
    TARGET,
    UNSEEN,
    WALL,
)
from nodesets.policy_gridhouse.words import listen, understand
from tests.nodesets.gridhouse_player import NODESETS, House, act, follow, nodeset_class

STOP = 0
WEIGHTS = NODESETS / "policy_gridhouse" / "weights.npz"


def policy() -> Any:
    (tool,) = nodeset_class("policy_gridhouse")().get_tools()
    tool.config = dict(tool.default_config)
    return tool


def rows(count: int) -> list[dict[str, Any]]:
    drawn: list[dict[str, Any]] = policy().sample_rows(count, np.random.default_rng(1))
    return [dict(row, _key=key) for key, row in enumerate(drawn)]


def bits(output: dict[str, Any]) -> tuple[Any, ...]:
    return output["action"], output["hidden_out"].tobytes(), output["belief"].tobytes()


def test_the_weights_are_small_and_of_the_shapes_that_the_network_has() -> None:
    assert WEIGHTS.stat().st_size < 1_000_000
    with np.load(WEIGHTS) as file:
        weights = {name: file[name] for name in file.files}
    biases = {name + "_bias": shape[1:] for name, shape in network.LAYERS.items()}
    assert {name: array.shape for name, array in weights.items()} == {**network.LAYERS, **biases}
    assert {array.dtype for array in weights.values()} == {np.dtype(np.float32)}


@pytest.mark.slow
async def test_it_follows_instructions_in_houses_that_it_has_not_seen() -> None:
    house, tool = House(), policy()
    scored = []
    for index in range(60):
        await house.choose("val_unseen", index)
        scored.append(await follow(house, tool, steps=120))
    success = np.mean([metrics["success"] for metrics in scored])
    assert 0.5 <= success <= 0.95, success
    assert np.mean([metrics["spl"] for metrics in scored]) > 0.5 * success


@pytest.mark.parametrize("temperature", [0.0, 1.0])
async def test_a_row_has_the_same_bits_in_every_batch(temperature: float) -> None:
    tool, samples = policy(), rows(16)
    config = {"temperature": temperature, "show_belief": True}
    alone = [bits((await act(tool, [sample], **config))[0]) for sample in samples]
    for size in range(2, 17):
        for start in (0, 16 - size):
            batch = await act(tool, samples[start : start + size], **config)
            assert [bits(output) for output in batch] == alone[start : start + size]


async def test_the_check_at_load_finds_it_free() -> None:
    verdict = await check(policy(), max_batch=16)
    assert (verdict.regime, verdict.label) == ("free", "exact"), verdict.why


async def test_sample_rows_are_inputs_and_no_two_alike() -> None:
    samples = rows(64)
    assert len({sample["rgb"].tobytes() for sample in samples}) == 64
    out = await act(policy(), samples)
    assert {output["action"] for output in out} <= {"stop", "forward", "turn_left", "turn_right"}
    assert all(np.isfinite(output["hidden_out"]).all() for output in out)


async def test_two_episodes_at_once_are_each_as_alone() -> None:
    tool, alone = policy(), []
    for index in (2, 3):
        house = House()
        await house.choose("val_unseen", index)
        alone.append(await follow(house, tool, steps=25))
    houses = [House(), House()]
    seen = []
    for house, index in zip(houses, (2, 3), strict=True):
        await house.choose("val_unseen", index)
        seen.append(await house.fire("reset"))
    texts = [first["instruction"] for first in seen]
    memory: list[Any] = [None, None]
    for _ in range(25):
        samples = [
            {"rgb": s["rgb"], "instruction": text, "hidden_in": kept, "_key": 0}
            for s, text, kept in zip(seen, texts, memory, strict=True)
        ]
        outputs = await act(tool, samples)
        memory = [output["hidden_out"] for output in outputs]
        for slot, (house, output) in enumerate(zip(houses, outputs, strict=True)):
            if not seen[slot].get("terminated"):
                seen[slot] = await house.fire("step_discrete", action=output["action"])
    assert [(await house.fire("evaluate"))["metrics"] for house in houses] == alone


async def test_chance_comes_from_the_key_alone() -> None:
    tool, (row,) = policy(), rows(1)
    keyed = [dict(row, _key=key) for key in range(40)]

    async def draw(temperature: float) -> list[str]:
        return [output["action"] for output in await act(tool, keyed, temperature=temperature)]

    assert await draw(3.0) == await draw(3.0)
    assert len(set(await draw(3.0))) > 1
    assert len(set(await draw(0.0))) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rgb": np.zeros((32, 32, 3), np.uint8)}, r"rgb is uint8 \(32, 32, 3\)"),
        ({"rgb": np.zeros((64, 64, 3), np.float32)}, "rgb is float32"),
        ({"hidden_in": np.zeros(128, np.float32)}, r"hidden_in has shape \(128,\)"),
    ],
)
async def test_input_of_another_shape_is_named(change: dict[str, Any], words: str) -> None:
    (row,) = rows(1)
    with pytest.raises(ValueError, match=words):
        await act(policy(), [{**row, **change}])


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), "warm"])
async def test_a_temperature_that_is_none(temperature: Any) -> None:
    with pytest.raises(ValueError, match="config temperature is"):
        await act(policy(), rows(1), temperature=temperature)


def meant(instruction: str) -> list[set[str]]:
    flags = listen(instruction)
    names = np.array([*network.ROOMS, *network.COLOURS, *network.SHAPES])
    return [set(names[part][flags[part] > 0]) for part in (slice(8), slice(8, 14), slice(14, None))]


def test_what_is_said_is_meant_and_what_is_not_said_is_open() -> None:
    said = meant("Enter the LIVING room, then stop next to the red ball.")
    assert said == [{"living"}, {"red"}, {"ball"}]
    assert meant("find the blue vase") == [set(network.ROOMS), {"blue"}, {"vase"}]
    assert meant("find the lamp in the study") == [{"study"}, set(network.COLOURS), {"lamp"}]
    assert meant("") == [set(network.ROOMS), set(network.COLOURS), set(network.SHAPES)]


@pytest.mark.parametrize(
    ("surface", "colour", "shape", "kind"),
    [
        ("unseen", "red", "ball", UNSEEN),
        ("wall", "red", "ball", WALL),
        ("door", "red", "ball", DOOR),
        ("kitchen", "red", "ball", NAMED),
        ("garage", "red", "ball", FLOOR),
        ("object", "red", "ball", TARGET),
        ("object", "blue", "ball", OBJECT),
        ("object", "red", "lamp", OBJECT),
    ],
)
def test_a_cell_is_understood_by_the_instruction(surface: str, colour: str, shape: str, kind: int) -> None:
    logits = []
    for names, name in ((network.SURFACES, surface), (network.COLOURS, colour), (network.SHAPES, shape)):
        flags = np.array([50.0 * (other == name) for other in names], np.float32)
        logits.append(np.tile(flags, (1, network.AHEAD, network.ACROSS, 1)))
    kinds = understand(*logits, listen("go to the red ball in the kitchen")[None])
    assert kinds.shape == (1, network.AHEAD, network.ACROSS, KINDS)
    assert np.allclose(kinds, np.eye(KINDS)[kind])


def open_floor() -> np.ndarray:
    """A belief in the named room all around, with a wall about it and nothing unseen within."""
    belief = np.zeros((6, SIDE, SIDE), np.float32)
    belief[WALL - 1] = 1
    belief[:, 2:-2, 2:-2] = 0
    belief[NAMED - 1, 2:-2, 2:-2] = 1
    return belief


def chosen(belief: np.ndarray) -> int:
    return int(planner.action_values(belief[None])[0].argmax())


def put(belief: np.ndarray, kind: int, ahead: int, aside: int) -> np.ndarray:
    belief[:, MIDDLE - ahead, MIDDLE + aside] = 0
    belief[kind - 1, MIDDLE - ahead, MIDDLE + aside] = 1
    return belief


@pytest.mark.parametrize(
    ("ahead", "aside", "action"),
    [(1, 0, STOP), (0, 1, STOP), (4, 0, FORWARD), (0, -4, LEFT), (0, 4, RIGHT), (-4, 0, RIGHT)],
)
def test_it_turns_and_walks_to_the_target_and_stops_beside_it(ahead: int, aside: int, action: int) -> None:
    assert chosen(put(open_floor(), TARGET, ahead, aside)) == action


def test_it_goes_round_what_is_in_the_way() -> None:
    belief = put(put(open_floor(), TARGET, 4, 0), OBJECT, 1, 0)
    belief[WALL - 1, MIDDLE - 1, MIDDLE + 1 :] = 20
    assert chosen(belief) == LEFT


def test_beside_a_twin_outside_the_named_room_it_does_not_stop() -> None:
    belief = put(open_floor(), TARGET, 1, 0)
    belief[FLOOR - 1] = belief[NAMED - 1]
    belief[NAMED - 1] = 0
    belief[:, MIDDLE + 3 : MIDDLE + 5] = 0
    assert chosen(belief) in (LEFT, RIGHT)


def test_with_nothing_left_to_see_it_gives_up() -> None:
    assert chosen(open_floor()) == STOP


def test_without_a_target_it_goes_where_it_has_not_been() -> None:
    belief = open_floor()
    belief[:, MIDDLE + 3 : MIDDLE + 5] = 0
    assert chosen(belief) in (LEFT, RIGHT)


@given(st.integers(0, 2**32 - 1))
def test_turning_about_leads_back(seed: int) -> None:
    belief = np.random.default_rng(seed).random((6, SIDE, SIDE)).astype(np.float32)
    assert np.array_equal(beliefs.move(beliefs.move(belief, LEFT), RIGHT), belief)
    turned = belief
    for _ in range(4):
        turned = beliefs.move(turned, RIGHT)
    assert np.array_equal(turned, belief)


def test_what_was_ahead_is_a_step_nearer_after_one_forward_and_to_the_left_after_a_right_turn() -> None:
    belief = put(open_floor(), TARGET, 3, 0)
    assert beliefs.move(belief, FORWARD)[TARGET - 1, MIDDLE - 2, MIDDLE] == 1
    assert beliefs.move(belief, RIGHT)[TARGET - 1, MIDDLE, MIDDLE - 3] == 1
    wall = put(open_floor(), WALL, 1, 0)
    assert np.array_equal(beliefs.move(wall, FORWARD), wall)


def test_a_glimpse_is_remembered_where_it_was() -> None:
    glimpse = np.zeros((1, network.AHEAD, network.ACROSS, KINDS), np.float32)
    glimpse[..., UNSEEN] = 1
    glimpse[0, 2, 0] = np.eye(KINDS)[TARGET]
    seen = beliefs.observe(np.zeros((1, 6, SIDE, SIDE), np.float32), glimpse)[0]
    expected = np.zeros_like(seen)
    expected[TARGET - 1, MIDDLE - 2, MIDDLE - network.ACROSS // 2] = 1
    assert np.array_equal(seen, expected)
    shown = beliefs.picture(seen)
    assert shown.shape == (SIDE, SIDE, 3)
    assert (shown.reshape(-1, 3).any(axis=1)).sum() == 2


def test_training_repeats_bit_for_bit() -> None:
    train = pytest.importorskip("nodesets.policy_gridhouse.train", exc_type=ImportError)
    one, other = (train.train(updates=2, houses=4) for _ in range(2))
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)
