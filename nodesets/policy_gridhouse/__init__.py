"""A small policy for gridhouse: it reads the instruction, looks, keeps a map of what it believes, and walks.

Seeing is learnt (``network``, trained by ``train``); remembering (``belief``) and walking (``planner``) are
written down. It errs where it misjudges what it sees: a twin in another colour, the same object in another
room.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.components import BaseCanvasNode, BaseNodeSet, PortDef

from . import network
from .belief import SIDE, move, observe, picture
from .planner import action_values
from .words import listen, understand

ACTIONS = ("stop", "forward", "turn_left", "turn_right")
FRAME = (64, 64, 3)
BELIEF = (6, SIDE, SIDE)


@lru_cache(maxsize=None)
def load_weights() -> dict[str, np.ndarray]:
    """The trained weights; ``train`` makes them."""
    with np.load(Path(__file__).with_name("weights.npz")) as file:
        return {name: file[name] for name in file.files}


class Act(BaseCanvasNode):
    """One step of the policy for one or several callers.

    A sample: ``rgb`` (64, 64, 3) uint8, ``instruction``, ``hidden_in`` (6, 27, 27) float32 as the step
    before put it out, absent at the first. ``temperature`` 0 takes the best action; above 0 it draws from
    softmax(values / temperature), values being steps spared, by the sample's own key.
    """

    node_type = "policy_gridhouse__act"
    display_name = "Gridhouse policy"
    description = "Chooses the next action from the frame, the instruction and what was seen before"
    category = "policy"
    input_ports = [
        PortDef("rgb", "IMAGE", "what the agent sees"),
        PortDef("instruction", "TEXT", "where it should go"),
        PortDef("hidden_in", "ANY", "the last hidden_out", optional=True),
    ]
    output_ports = [
        PortDef("action", "DISCRETE_ACTION", "stop, forward, turn_left or turn_right"),
        PortDef("hidden_out", "ANY", "its memory: (6, 27, 27) float32"),
        PortDef("belief", "IMAGE", "its memory as a map, itself in the middle facing up; if show_belief"),
    ]
    default_config = {"temperature": 0.0, "show_belief": False}
    batched = True

    async def initialize(self) -> None:
        """ValueError where ``temperature`` is none."""
        temperature = self.config["temperature"]
        if not isinstance(temperature, (int, float)) or not temperature >= 0:
            raise ValueError(f"config temperature is {temperature!r}; it is a number of at least 0")

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        samples = inputs["_samples"]
        frames = np.stack([_frame(sample["rgb"]) for sample in samples])
        meant = np.stack([listen(sample["instruction"]) for sample in samples])
        before = np.stack([_belief(sample.get("hidden_in")) for sample in samples])
        believed = observe(before, understand(*network.glimpse(load_weights(), frames), meant))
        values = action_values(believed)
        return {"_outputs": [self._output(*row) for row in zip(samples, believed, values)]}

    def sample_rows(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Rows for the check at load: wall, floor and object in random colours, and a memory half full."""
        return [
            {"rgb": _scene(rng), "instruction": _instruction(rng), "hidden_in": _memory(rng)}
            for _ in range(n)
        ]

    def _output(self, sample: dict[str, Any], belief: np.ndarray, values: np.ndarray) -> dict[str, Any]:
        temperature = self.config["temperature"]
        if temperature > 0:
            noise = np.random.Generator(np.random.PCG64(sample["_key"])).gumbel(size=len(ACTIONS))
            values = values / temperature + noise
        action = int(values.argmax())
        output = {"action": ACTIONS[action], "hidden_out": move(belief, action)}
        if self.config["show_belief"]:
            output["belief"] = picture(belief)
        return output


class GridhousePolicy(BaseNodeSet):
    """Shared by all workers: one process, whose calls are batched."""

    name = "policy_gridhouse"
    description = "A small policy that follows instructions in gridhouse (numpy only)"
    parallelism = "shared"
    determinism = "exact"
    expected_ram_mb = 100
    env = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Act()]

    async def initialize(self, **kwargs: Any) -> None:
        load_weights()


def _frame(rgb: Any) -> np.ndarray:
    frame = np.asarray(rgb)
    if frame.shape != FRAME or frame.dtype != np.uint8:
        raise ValueError(f"rgb is {frame.dtype} {frame.shape}; this policy sees uint8 {FRAME}")
    return frame.astype(np.float32) / np.float32(255) - np.float32(0.5)


def _belief(hidden: Any) -> np.ndarray:
    if hidden is None:
        return np.zeros(BELIEF, np.float32)
    belief = np.asarray(hidden, np.float32)
    if belief.shape != BELIEF:
        raise ValueError(
            f"hidden_in has shape {belief.shape}; it must be {BELIEF}, as this policy put it out"
        )
    return belief


def _scene(rng: np.random.Generator) -> np.ndarray:
    """Ceiling, wall and floor with an object on it."""
    frame = np.empty(FRAME, np.uint8)
    top, bottom, left = rng.integers(8, 30), rng.integers(34, 60), rng.integers(0, 54)
    for rows in (slice(0, top), slice(top, bottom), slice(bottom, None)):
        frame[rows] = rng.integers(256, size=3)
    frame[bottom - 4 : bottom + 4, left : left + 10] = rng.integers(256, size=3)
    return frame


def _instruction(rng: np.random.Generator) -> str:
    return "go to the {} {} in the {}".format(
        *map(rng.choice, (network.COLOURS, network.SHAPES, network.ROOMS))
    )


def _memory(rng: np.random.Generator) -> np.ndarray:
    seen = rng.random((1, SIDE, SIDE)) < 0.5
    return (rng.random(BELIEF) * seen).astype(np.float32)
