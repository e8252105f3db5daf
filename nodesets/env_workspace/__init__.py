"""Command-line agents at work in a folder: files, an archive or a git repository, and a task.

An episode is a folder made from a case. Any command may work in it (``run_harness``), or an agent of the
graph's, step by step (``shell``). Afterwards graders run commands there, through the panel, which also gives
the git diff.
"""

from __future__ import annotations

from typing import Any

from engine.components import BaseCanvasNode, BaseNodeSet

from .cases import read_splits
from .harness import LONGEST_SEC, RunHarness
from .panel import WorkspacePanel
from .stage import Stage
from .tools import METRICS, Episode, Evaluate, Shell
from .workspace import SETUP_SEC


class EnvWorkspace(BaseNodeSet):
    """One folder a process, one command in it at a time."""

    name = "env_workspace"
    description = "Command-line agents on files and git repositories, one folder an episode"
    parallelism = "replicated"
    # What a harness does is its own: most of them ask a model.
    determinism = "none"
    default_per_step_budget_sec = LONGEST_SEC + 60.0
    first_reset_deadline_sec = reset_deadline_sec = 2 * SETUP_SEC
    expected_vram_mb = 0
    env_panel = WorkspacePanel

    def __init__(self) -> None:
        self.stage = Stage()

    async def initialize(self, **kwargs: Any) -> None:
        self.stage.adopt_orphans()

    def get_tools(self) -> list[BaseCanvasNode]:
        return [tool(self.stage) for tool in (Episode, RunHarness, Shell, Evaluate)]

    async def shutdown(self) -> None:
        await self.stage.close()

    async def get_eval_metadata(self) -> dict[str, Any]:
        """Of the cases that are selected. Raises ValueError where they cannot be read."""
        splits = read_splits(str(self.stage.chosen.get("cases") or ""))
        return {
            "env_name": "Workspace",
            "splits": list(splits),
            "episode_counts": {split: len(cases) for split, cases in splits.items()},
            "metrics": list(METRICS),
            "supports_set_episode": True,
            "step_budget": None,
        }
