"""An environment whose episodes depend on those before them in its process: hence ``recycle_after``.

Each step's reward is a digest of all episodes that the process has begun. Selectors: ``pause``, seconds that
a step takes; ``marker``, a file without which the process kills itself, once, in the episode ``at``.
"""

from __future__ import annotations

import os
import signal
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

from engine.components import BaseCanvasNode, BaseEnvPanel, BaseNodeSet, PortDef

LENGTH = 3
FIELDS: dict[str, Any] = {}
PAST: list[tuple[int, int]] = []
STEPS = [0]


class Panel(BaseEnvPanel):
    name = "env_diary"

    async def on_load(self) -> dict[str, Any]:
        return {"current_episode": {"episode_id": str(FIELDS.get("episode_index"))}, "step_budget": 10}

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        FIELDS[name] = value
        return {}

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        PAST.append((FIELDS["episode_index"], FIELDS["seed"]))
        STEPS[0] = 0
        return {"ok": True}


class Reset(BaseCanvasNode):
    node_type = "env_diary__reset"
    output_ports: ClassVar[list[PortDef]] = [PortDef("obs", "ANY")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"obs": int(FIELDS["seed"])}


class Step(BaseCanvasNode):
    node_type = "env_diary__step_discrete"
    input_ports: ClassVar[list[PortDef]] = [PortDef("obs", "ANY")]
    output_ports: ClassVar[list[PortDef]] = [
        PortDef("obs", "ANY"),
        PortDef("reward", "ANY"),
        PortDef("terminated", "BOOL"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        STEPS[0] += 1
        time.sleep(float(FIELDS.get("pause", 0.0)))
        marker = FIELDS.get("marker")
        if marker and FIELDS["episode_index"] == FIELDS["at"] and not Path(marker).exists():
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        told = f"{PAST} {STEPS[0]}".encode()
        reward = int.from_bytes(blake2b(told, digest_size=4).digest(), "big")
        return {"obs": STEPS[0], "reward": reward, "terminated": STEPS[0] >= LENGTH}


class Evaluate(BaseCanvasNode):
    node_type = "env_diary__evaluate"
    input_ports: ClassVar[list[PortDef]] = [PortDef("trigger", "ANY")]
    output_ports: ClassVar[list[PortDef]] = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"metrics": {"success": float(len(PAST) % 2), "past": float(len(PAST))}}


class DiaryNodeSet(BaseNodeSet):
    name = "env_diary"
    parallelism = "replicated"
    env_panel = Panel
    recycle_after = 4

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Reset(), Step(), Evaluate()]

    async def get_eval_metadata(self) -> dict[str, Any]:
        return {
            "env_name": "diary",
            "splits": ["all"],
            "episode_counts": {"all": 1000},
            "metrics": ["success"],
        }
