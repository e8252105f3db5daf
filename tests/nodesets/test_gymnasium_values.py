"""Random actions, frames and plain values of env_gymnasium."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from tests.nodesets.gym_fakes import Box, Discrete
from tests.nodesets.gym_player import nodeset_class

values: Any = importlib.import_module(nodeset_class("env_gymnasium").__module__ + ".values")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


SPACES = [
    spaces.Discrete(5, start=-2),
    spaces.MultiBinary([2, 3]),
    spaces.MultiDiscrete([3, 4], start=[1, 2]),
    spaces.Box(-1, 2, (3,)),
    spaces.Box(0, 255, (2, 2), np.uint8),
    spaces.Box(np.array([-np.inf, 0.0, -np.inf], np.float32), np.array([np.inf, np.inf, 1.0], np.float32)),
]


@given(st.sampled_from(SPACES), st.integers(0, 2**32))
def test_a_drawn_action_lies_in_its_space_and_depends_on_the_generator_alone(space: Any, seed: int) -> None:
    drawn = values.draw(space, rng(seed))
    assert space.contains(drawn)
    assert np.array_equal(drawn, values.draw(space, rng(seed)))


def test_compound_spaces_are_drawn_entry_by_entry_and_others_by_their_own_sample() -> None:
    drawn = values.draw(spaces.Dict(a=spaces.Discrete(3), b=spaces.Tuple([spaces.Discrete(2)])), rng())
    assert drawn["a"] in range(3)
    assert drawn["b"][0] in range(2)
    text = spaces.Text(5)
    assert values.draw(text, rng(3)) == values.draw(text, rng(3))


@pytest.mark.parametrize("space", [Discrete(4), spaces.Discrete(4)])
def test_discrete_actions_are_uniform(space: Any) -> None:
    generator = rng()
    counts = np.bincount([values.draw(space, generator) for _ in range(4000)], minlength=4)
    # chi-squared with 3 degrees of freedom: P(> 21.1) = 0.0001
    assert ((counts - 1000) ** 2 / 1000).sum() < 21.1


def test_bounded_boxes_are_uniform() -> None:
    generator = rng()
    drawn = np.array([values.draw(Box([-2.0], [6.0]), generator)[0] for _ in range(4000)])
    # The mean of 4000 has a standard error of 8 / sqrt(12 * 4000) = 0.0365.
    assert abs(drawn.mean() - 2) < 5 * 0.0365
    assert drawn.min() < -1.9
    assert drawn.max() > 5.9


@pytest.mark.parametrize(
    ("frame", "pixel"),
    [
        (np.full((2, 3), 7, np.uint8), [7, 7, 7]),
        (np.full((2, 3, 1), 7, np.uint8), [7, 7, 7]),
        (np.full((2, 3, 4), 7, np.uint8), [7, 7, 7]),
        ([np.zeros((2, 3, 3), np.uint8), np.full((2, 3, 3), 9, np.uint8)], [9, 9, 9]),
    ],
)
def test_frames_become_rgb(frame: Any, pixel: list[int]) -> None:
    image = values.image(frame)
    assert (image.shape, image.dtype) == ((2, 3, 3), np.uint8)
    assert image[1, 2].tolist() == pixel


@pytest.mark.parametrize("frame", ["text", np.zeros((2, 3, 3)), np.zeros((2, 3, 5), np.uint8), []])
def test_what_is_no_frame_is_refused(frame: Any) -> None:
    with pytest.raises(TypeError, match=r"render\(\) gave .*, not an image"):
        values.image(frame)


@pytest.mark.parametrize(
    ("value", "number"), [(1, 1.0), (np.float32(0.5), 0.5), (np.array([2.0]), 2.0), (True, 1.0)]
)
def test_rewards_are_one_number(value: Any, number: float) -> None:
    assert values.number(value, "the reward") == number


@pytest.mark.parametrize("value", [None, "high", [1, 2], {}])
def test_what_is_no_reward_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"the reward is .*, not one number"):
        values.number(value, "the reward")
