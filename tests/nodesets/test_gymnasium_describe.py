"""What a MiniGrid agent sees, in words."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
import pytest

from tests.nodesets.gym_player import Player, nodeset_class

describing: Any = importlib.import_module(nodeset_class("env_gymnasium").__module__ + ".describe")


def view(**cells: tuple[int, int, int]) -> np.ndarray:
    """A view of 7 by 7 of empty floor; ``x3y5=(6, 0, 0)`` is a red ball in front of the agent."""
    image = np.tile(np.array([1, 0, 0], np.uint8), (7, 7, 1))
    for place, cell in cells.items():
        image[int(place[1]), int(place[3])] = cell
    return image


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (view(), "In front of you is nothing. You see nothing else."),
        (view(x3y5=(2, 5, 0)), "In front of you is a wall. You see nothing else."),
        (view(x3y5=(6, 0, 0)), "In front of you is a red ball. There is a red ball 1 step ahead."),
        (
            view(x3y6=(5, 4, 0), x1y6=(4, 2, 2), x4y4=(7, 1, 0)),
            "You carry a yellow key. In front of you is nothing. There is a locked blue door 2 steps "
            "to the left. There is a green box 2 steps ahead and 1 step to the right.",
        ),
        (
            view(x0y0=(8, 1, 0)),
            "In front of you is nothing. There is a goal 6 steps ahead and 3 steps to the left.",
        ),
    ],
)
def test_words(image: np.ndarray, words: str) -> None:
    assert describing.describe(image) == words


async def test_an_agent_that_only_reads_finds_the_ball() -> None:
    """The bot of this test knows nothing but the words, so they have to be true."""
    player = Player()
    solved = 0
    for seed in range(5):
        await player.choose(seed, env_id="BabyAI-GoToRedBallNoDists-v0")
        observation = (await player.fire("reset"))["observation"]
        done = False
        while not done:
            read = await player.fire("describe", observation=observation)
            assert read["mission"] == "go to the red ball"
            place = re.search(
                r"red ball (?:(\d) steps? ahead)?(?: and )?(?:\d steps? to the (\w+))?", read["description"]
            )
            ahead, side = place.groups() if place else (None, None)
            blocked = "In front of you is nothing" not in read["description"]
            action = side if side and not ahead else "right" if blocked else "forward"
            stepped = await player.fire("step_discrete", action=action)
            observation, done = stepped["observation"], stepped["done"]
        solved += (await player.fire("evaluate", trigger=None))["success"]
    assert solved == 5


async def test_what_is_not_minigrid_s_is_refused() -> None:
    for observation in ({"image": [1, 2]}, [0.0, 1.0]):
        with pytest.raises(ValueError, match="an observation is not MiniGrid's"):
            await Player().fire("describe", observation=observation)
