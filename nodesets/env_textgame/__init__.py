"""Text games: TextWorld's generated ones, ScienceWorld's experiments, and ALFWorld's engine on kitchens."""

from __future__ import annotations

from engine.components import EnvPanelField, StageNodeSet, conda_env_python, seed_field

from .games import JAVA
from .table import PACKAGES, Table
from .tools import TOOLS


class EnvTextGame(StageNodeSet):
    """One game a process, made anew for every episode; ScienceWorld's Java child stays for the next one."""

    name, title = "env_textgame", "Text games"
    description = "TextWorld, ScienceWorld (needs Java), ALFWorld: commands in, text out; walkthroughs"
    server_python = conda_env_python("evaltower-textgame", "EVALTOWER_TEXTGAME_PYTHON")
    packages, programs = PACKAGES, (JAVA,)
    expected_ram_mb = 900  # ScienceWorld's Java; the others take 100 to 150
    recycle_above_mb = 2048  # ALFWorld's planner leaves more than 1 MB an episode
    stage_class, tool_classes = Table, TOOLS
    metrics = ("success", "score", "max_score", "steps")
    only_fields = True
    fields = (
        EnvPanelField("task_id", "text", "Game", placeholder="textworld/simple, scienceworld/boil, …"),
        EnvPanelField(
            "options", "text", "tw-make's options, or ScienceWorld's simplifications", optional=True
        ),
        seed_field("game_seed", "Game's seed (empty: the episode's)"),
    )
