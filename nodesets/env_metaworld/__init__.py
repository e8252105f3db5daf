"""Meta-World v3: fifty things that a robot arm does on a table, each with a scripted policy that does it."""

from __future__ import annotations

from typing import Any

from engine.components import StageNodeSet, conda_env_python

from .panel import MetaWorldPanel
from .tools import TOOLS
from .trial import METAWORLD, METRICS, STEP_LIMIT, Bench


class EnvMetaWorld(StageNodeSet):
    """One arm and one task a process, made anew for every episode."""

    name = "env_metaworld"
    description = "Meta-World v3: 50 manipulation tasks (MT1, MT50), scripted and random policies"
    server_python = conda_env_python("evaltower-metaworld", "EVALTOWER_METAWORLD_PYTHON")
    packages = (METAWORLD,)
    expected_ram_mb = 400  # 210 to 280 without frames
    recycle_above_mb = 1024  # what closed environments leave behind comes and goes, some tens of MB
    env_panel, stage_class, tool_classes, metrics = MetaWorldPanel, Bench, TOOLS, METRICS

    async def get_eval_metadata(self) -> dict[str, Any]:
        return dict(await super().get_eval_metadata(), env_name="Meta-World v3", step_budget=STEP_LIMIT)
