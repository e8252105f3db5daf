"""Environments that break the promise in one way each (selector ``habit``), and one that only looks as if.

``remembers``: the reward counts earlier episodes of the process. ``global_rng``: draws from a generator that
nobody seeded. ``sleeps``: takes longer when the box is busy, and answers the same.
"""

from __future__ import annotations

import os
import random
import time
from typing import Any, ClassVar

from engine.components import BaseCanvasNode, BaseEnvPanel, BaseNodeSet, PortDef

LENGTH = 3
FIELDS: dict[str, Any] = {}
STATE = {"episodes": 0, "steps": 0}


class Panel(BaseEnvPanel):
    name = "env_untidy"

    async def on_load(self) -> dict[str, Any]:
        return {"current_episode": {"episode_id": str(FIELDS.get("episode_index"))}, "step_budget": 10}

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        FIELDS[name] = value
        return {}

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        STATE["episodes"] += 1
        STATE["steps"] = 0
        return {"ok": True}


class Reset(BaseCanvasNode):
    node_type = "env_untidy__reset"
    output_ports: ClassVar[list[PortDef]] = [PortDef("obs", "ANY")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"obs": int(FIELDS["seed"])}


class Step(BaseCanvasNode):
    node_type = "env_untidy__step_discrete"
    input_ports: ClassVar[list[PortDef]] = [PortDef("obs", "ANY")]
    output_ports: ClassVar[list[PortDef]] = [
        PortDef("obs", "ANY"),
        PortDef("reward", "ANY"),
        PortDef("terminated", "BOOL"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        STATE["steps"] += 1
        reward = float(STATE["steps"])
        habit = FIELDS.get("habit")
        if habit == "remembers" and STATE["steps"] == 2:
            reward += STATE["episodes"]
        elif habit == "global_rng" and STATE["steps"] == 2:
            reward += random.random()
        elif habit == "sleeps":
            time.sleep(0.002 * min(os.getloadavg()[0], 5.0))
        return {"obs": STATE["steps"], "reward": reward, "terminated": STATE["steps"] >= LENGTH}


class Evaluate(BaseCanvasNode):
    node_type = "env_untidy__evaluate"
    input_ports: ClassVar[list[PortDef]] = [PortDef("trigger", "ANY")]
    output_ports: ClassVar[list[PortDef]] = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"metrics": {"success": 1.0}}


class UntidyNodeSet(BaseNodeSet):
    name = "env_untidy"
    parallelism = "replicated"
    env_panel = Panel

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Reset(), Step(), Evaluate()]

    async def get_eval_metadata(self) -> dict[str, Any]:
        return {
            "env_name": "untidy",
            "splits": ["all"],
            "episode_counts": {"all": 50},
            "metrics": ["success"],
        }
