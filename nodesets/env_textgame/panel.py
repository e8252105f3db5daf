"""Choosing the game."""

from __future__ import annotations

from engine.components import EnvPanelField, StagePanel


class TextGamePanel(StagePanel):
    name = "env_textgame"
    only_fields = True
    fields = [
        EnvPanelField(
            "task_id", "text", "Game", placeholder="textworld/simple, scienceworld/boil, a path, …"
        ),
        EnvPanelField("options", "text", "tw-make's options, or ScienceWorld's simplifications"),
        EnvPanelField("game_seed", "number", "Game's seed (empty: the episode's)", min=0),
        EnvPanelField("seed", "number", "Seed", min=0),
        EnvPanelField("episode_index", "number", "Episode", min=0),
    ]
