"""``tests/fakes/bench_world.py`` as a nodeset. Selectors ``wait_ms`` and ``jitter_ms``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

from engine.components import BaseCanvasNode, BaseEnvPanel, BaseNodeSet, PortDef

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_world import EPISODE_STEPS, BenchWorld, bench_policy

FIELDS: dict[str, Any] = {}
WORLDS: list[BenchWorld] = []


class Panel(BaseEnvPanel):
    name = "env_bench"

    async def on_load(self) -> dict[str, Any]:
        return {"current_episode": {}, "step_budget": EPISODE_STEPS}

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        FIELDS[name] = value
        return {}

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        WORLDS[:] = [BenchWorld(float(FIELDS["wait_ms"]), float(FIELDS["jitter_ms"]))]
        return {"ok": True}


class Reset(BaseCanvasNode):
    node_type = "env_bench__reset"
    output_ports: ClassVar[list[PortDef]] = [PortDef("rgb", "IMAGE")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"rgb": WORLDS[0].reset(FIELDS["seed"])}


class Act(BaseCanvasNode):
    node_type = "env_bench__step_discrete"
    input_ports: ClassVar[list[PortDef]] = [PortDef("rgb", "IMAGE")]
    output_ports: ClassVar[list[PortDef]] = [PortDef("rgb", "IMAGE"), PortDef("terminated", "BOOL")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        frame, done = WORLDS[0].step(bench_policy(inputs["rgb"]))
        return {"rgb": frame, "terminated": done}


class Evaluate(BaseCanvasNode):
    node_type = "env_bench__evaluate"
    input_ports: ClassVar[list[PortDef]] = [PortDef("trigger", "ANY")]
    output_ports: ClassVar[list[PortDef]] = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"metrics": {"success": 1.0}}


class BenchNodeSet(BaseNodeSet):
    name = "env_bench"
    parallelism = "replicated"
    env_panel = Panel

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Reset(), Act(), Evaluate()]
