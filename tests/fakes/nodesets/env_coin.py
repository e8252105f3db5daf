"""A coin: success in three of four episodes, as their seeds say; episodes take differently long."""

from __future__ import annotations

import random
import time
from typing import Any, ClassVar

from engine.components import BaseCanvasNode, BaseEnvPanel, BaseNodeSet, PortDef

CHANCE = 0.75
SLOWEST_SEC = 0.01
FIELDS: dict[str, Any] = {}


class Panel(BaseEnvPanel):
    name = "env_coin"

    async def on_load(self) -> dict[str, Any]:
        return {"current_episode": {"episode_id": str(FIELDS.get("episode_index"))}, "step_budget": 3}

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        FIELDS[name] = value
        return {}

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True}


class Reset(BaseCanvasNode):
    node_type = "env_coin__reset"
    output_ports: ClassVar[list[PortDef]] = [PortDef("obs", "ANY")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"obs": int(FIELDS["seed"])}


class Step(BaseCanvasNode):
    node_type = "env_coin__step_discrete"
    input_ports: ClassVar[list[PortDef]] = [PortDef("obs", "ANY")]
    output_ports: ClassVar[list[PortDef]] = [PortDef("obs", "ANY"), PortDef("terminated", "BOOL")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        time.sleep(SLOWEST_SEC * random.Random(FIELDS["episode_index"]).random())
        return {"obs": inputs["obs"], "terminated": True}


class Evaluate(BaseCanvasNode):
    node_type = "env_coin__evaluate"
    input_ports: ClassVar[list[PortDef]] = [PortDef("trigger", "ANY")]
    output_ports: ClassVar[list[PortDef]] = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"metrics": {"success": float(random.Random(FIELDS["seed"]).random() < CHANCE)}}


class CoinNodeSet(BaseNodeSet):
    name = "env_coin"
    parallelism = "replicated"
    env_panel = Panel

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Reset(), Step(), Evaluate()]

    async def get_eval_metadata(self) -> dict[str, Any]:
        return {
            "env_name": "coin",
            "splits": ["all"],
            "episode_counts": {"all": 1000},
            "metrics": ["success"],
        }
