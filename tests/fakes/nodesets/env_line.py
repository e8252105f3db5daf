"""A walk on a line of 12 places, told in words and shown as an image; LEFT and RIGHT move, STOP ends."""

from __future__ import annotations

import random
from typing import Any, ClassVar

import numpy as np

from engine.components import BaseCanvasNode, BaseEnvPanel, BaseNodeSet, PortDef

PLACES = 12
MOVES = {"LEFT": -1, "RIGHT": 1}
FIELDS: dict[str, Any] = {}
WALK: dict[str, int] = {}
SEEN = [PortDef("observation", "TEXT"), PortDef("rgb", "IMAGE")]


def seen() -> dict[str, Any]:
    rgb = np.zeros((2, PLACES, 3), np.uint8)
    rgb[:, WALK["at"]] = 255
    return {"observation": f"You are at {WALK['at']}.", "rgb": rgb}


class Panel(BaseEnvPanel):
    name = "env_line"

    async def on_load(self) -> dict[str, Any]:
        return {"current_episode": {"instruction": f"go to {WALK['goal']}"}, "step_budget": 6}

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        FIELDS[name] = value
        return {}

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        rng = random.Random(FIELDS["seed"])
        WALK.update(at=rng.randrange(PLACES), goal=rng.randrange(PLACES), steps=0)
        return {"ok": True}


class Reset(BaseCanvasNode):
    node_type = "env_line__reset"
    output_ports: ClassVar[list[PortDef]] = [PortDef("instruction", "TEXT"), *SEEN]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"instruction": f"go to {WALK['goal']}", **seen()}


class Step(BaseCanvasNode):
    node_type = "env_line__step_discrete"
    input_ports: ClassVar[list[PortDef]] = [PortDef("action", "TEXT")]
    output_ports: ClassVar[list[PortDef]] = [*SEEN, PortDef("terminated", "BOOL")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        WALK["steps"] += 1
        WALK["at"] = (WALK["at"] + MOVES.get(inputs["action"], 0)) % PLACES
        return {**seen(), "terminated": inputs["action"] == "STOP"}


class Evaluate(BaseCanvasNode):
    node_type = "env_line__evaluate"
    input_ports: ClassVar[list[PortDef]] = [PortDef("trigger", "ANY")]
    output_ports: ClassVar[list[PortDef]] = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        left = abs(WALK["at"] - WALK["goal"])
        return {"metrics": {"success": float(left == 0), "left": float(left), "length": float(WALK["steps"])}}


class LineNodeSet(BaseNodeSet):
    name = "env_line"
    parallelism = "replicated"
    env_panel = Panel

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Reset(), Step(), Evaluate()]
