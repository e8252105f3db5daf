"""Meta-World v3: fifty things that a robot arm does on a table, each with a scripted policy that does it."""

from __future__ import annotations

from typing import Any

from engine.components import BaseCanvasNode, BaseNodeSet, conda_env_python

from .panel import MetaWorldPanel
from .tools import Evaluate, RandomAction, Reset, ScriptedAction, StepContinuous
from .trial import METRICS, STEP_LIMIT, Bench


class EnvMetaWorld(BaseNodeSet):
    """One arm and one task a process, made anew for every episode."""

    name = "env_metaworld"
    description = "Meta-World v3: 50 manipulation tasks (MT1, MT50), scripted and random policies"
    parallelism = "replicated"
    server_python = conda_env_python("evaltower-metaworld", "EVALTOWER_METAWORLD_PYTHON")
    expected_ram_mb = 400  # 210 to 280 without frames
    recycle_above_mb = 1024  # what closed environments leave behind comes and goes, some tens of MB
    env_panel = MetaWorldPanel

    def __init__(self) -> None:
        self.bench = Bench()

    def get_tools(self) -> list[BaseCanvasNode]:
        kinds = (Reset, StepContinuous, Evaluate, ScriptedAction, RandomAction)
        return [kind(self.bench) for kind in kinds]

    async def shutdown(self) -> None:
        self.bench.close()

    async def get_eval_metadata(self) -> dict[str, Any]:
        """Seeds have no end; 1000 episodes are what ``--all`` means here."""
        return {
            "env_name": "Meta-World v3",
            "splits": ["default"],
            "episode_counts": {"default": 1000},
            "metrics": list(METRICS),
            "supports_set_episode": True,
            "step_budget": STEP_LIMIT,
        }
