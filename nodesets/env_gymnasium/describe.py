"""What a MiniGrid agent sees, in words, for agents that read."""

from __future__ import annotations

from typing import Any, Iterator, Tuple

import numpy as np

from engine.components import BaseCanvasNode, PortDef

# MiniGrid's encoding of a cell: (kind, colour, state), as in minigrid.core.constants.
_WALL = 2
_THINGS = {4: "door", 5: "key", 6: "ball", 7: "box", 8: "goal", 9: "lava"}
_COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
_DOORS = ("open", "closed", "locked")
_COLOURLESS = ("goal", "lava")

Sight = Tuple[int, int, str]
"""Steps ahead, steps to the right (negative: left), what."""


class Describe(BaseCanvasNode):
    """The mission, what is in front, carried and in view, of a MiniGrid or BabyAI observation."""

    node_type = "env_gymnasium__describe"
    display_name = "MiniGrid: Describe"
    description = "Put a MiniGrid observation into words"
    category = "environment"
    input_ports = [PortDef("observation", "ANY", "{image (W, H, 3), mission}, as MiniGrid gives it")]
    output_ports = [PortDef("mission", "TEXT"), PortDef("description", "TEXT")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        observation = inputs["observation"]
        image = np.asarray(observation.get("image")) if isinstance(observation, dict) else np.empty(0)
        if image.ndim != 3 or image.shape[2] != 3:
            raise ValueError("an observation is not MiniGrid's: it has no image of shape (W, H, 3)")
        return {"mission": str(observation.get("mission", "")), "description": describe(image)}


def describe(image: np.ndarray) -> str:
    """Sentences on a view (W, H, 3): the agent is in the middle of the last row, and looks at the first."""
    middle, last = image.shape[0] // 2, image.shape[1] - 1
    carried = _thing(image[middle, last])
    said = [f"You carry a {carried}."] if carried else []
    front = image[middle, last - 1]
    said.append(f"In front of you is {_named(front)}.")
    seen = sorted(_sights(image), key=lambda sight: (sight[0] + abs(sight[1]), sight))
    said += [f"There is a {what} {_where(ahead, right)}." for ahead, right, what in seen]
    return " ".join(said if seen else [*said, "You see nothing else."])


def _sights(image: np.ndarray) -> Iterator[Sight]:
    middle, last = image.shape[0] // 2, image.shape[1] - 1
    for column in range(image.shape[0]):
        for row in range(image.shape[1]):
            what = _thing(image[column, row])
            if what and (column, row) != (middle, last):
                yield last - row, column - middle, what


def _thing(cell: np.ndarray) -> str:
    """A cell's thing with its colour and state; empty for a floor, a wall, and what is not seen."""
    kind = _THINGS.get(int(cell[0]), "")
    words = [_DOORS[int(cell[2])]] if kind == "door" else []
    if kind and kind not in _COLOURLESS:
        words.append(_COLOURS[int(cell[1])])
    return " ".join([*words, kind])


def _named(cell: np.ndarray) -> str:
    thing = _thing(cell)
    return f"a {thing}" if thing else "a wall" if int(cell[0]) == _WALL else "nothing"


def _where(ahead: int, right: int) -> str:
    sides = [f"{_steps(ahead)} ahead"] if ahead else []
    if right:
        sides.append(f"{_steps(abs(right))} to the {'right' if right > 0 else 'left'}")
    return " and ".join(sides)


def _steps(count: int) -> str:
    return f"{count} step" if count == 1 else f"{count} steps"
