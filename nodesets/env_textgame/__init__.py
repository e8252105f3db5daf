"""Text games: TextWorld's generated ones, ScienceWorld's experiments, and ALFWorld's engine on kitchens."""

from __future__ import annotations

from typing import Any

from engine.components import BaseCanvasNode, BaseNodeSet, conda_env_python

from .panel import STEP_BUDGET, TextGamePanel
from .tools import Evaluate, RandomAction, Reset, Step, Table, WalkthroughAction


class EnvTextGame(BaseNodeSet):
    """One game a process, made anew for every episode; ScienceWorld's Java child stays for the next one."""

    name = "env_textgame"
    description = "TextWorld, ScienceWorld (needs Java), ALFWorld: commands in, text out; walkthroughs"
    parallelism = "replicated"
    server_python = conda_env_python("evaltower-textgame", "EVALTOWER_TEXTGAME_PYTHON")
    expected_ram_mb = 900  # ScienceWorld's Java; the others take 100 to 150
    recycle_above_mb = 2048  # ALFWorld's planner leaves more than 1 MB an episode
    env_panel = TextGamePanel

    def __init__(self) -> None:
        self.table = Table()

    def get_tools(self) -> list[BaseCanvasNode]:
        return [kind(self.table) for kind in (Reset, Step, Evaluate, WalkthroughAction, RandomAction)]

    async def shutdown(self) -> None:
        self.table.close()

    async def get_eval_metadata(self) -> dict[str, Any]:
        """Seeds have no end; 1000 episodes are what ``--all`` means here."""
        return {
            "env_name": "Text games",
            "splits": ["default"],
            "episode_counts": {"default": 1000},
            "metrics": ["success", "score", "max_score", "steps"],
            "supports_set_episode": True,
            "step_budget": STEP_BUDGET,
        }
