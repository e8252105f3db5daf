"""Gridhouse: follow an instruction to an object in a house that is new each time. Numpy only.

A house has 4 to 6 rooms of different kinds on a grid of 0.5 m, joined by doors, with coloured objects, many
of which have a twin in another colour or another room. The agent sees a first-person frame, and moves by
discrete actions. It succeeds if it stops within 0.5 m of a place beside the object.
"""

from __future__ import annotations

from typing import Any

from engine.components import BaseCanvasNode, BaseNodeSet

from .episodes import EPISODES_PER_SPLIT, SPLITS
from .panel import GridhousePanel
from .simulator import METRICS, STEP_BUDGET
from .stage import Stage
from .tools import Evaluate, ExpertAction, ObserveEgocentric, RandomAction, Reset, StepDiscrete


class Gridhouse(BaseNodeSet):
    """One house and one agent a process."""

    name = "env_gridhouse"
    description = "Instruction following in generated houses, seen in the first person"
    parallelism = "replicated"
    determinism = "exact"
    default_per_step_budget_sec = 5.0
    expected_ram_mb = 100
    env_panel = GridhousePanel

    def __init__(self) -> None:
        self.stage = Stage()

    def get_tools(self) -> list[BaseCanvasNode]:
        tools = (Reset, ObserveEgocentric, StepDiscrete, Evaluate, ExpertAction, RandomAction)
        return [tool(self.stage) for tool in tools]

    async def get_eval_metadata(self) -> dict[str, Any]:
        return {
            "env_name": "gridhouse",
            "splits": list(SPLITS),
            "episode_counts": dict.fromkeys(SPLITS, EPISODES_PER_SPLIT),
            "metrics": list(METRICS),
            "supports_set_episode": True,
            "step_budget": STEP_BUDGET,
        }
