"""Choosing the game."""

from __future__ import annotations

import sys
from typing import Any

from engine.components import BaseEnvPanel, EnvPanelAction, EnvPanelField

STEP_BUDGET = 100


class TextGamePanel(BaseEnvPanel):
    """Fields are gathered as they come and judged at ``play``; the first change after that begins a new form,
    so that nothing selected for one episode is left over for the next."""

    name = "env_textgame"
    fields = [
        EnvPanelField(
            "task_id", "text", "Game", placeholder="textworld/simple, scienceworld/boil, a path, …"
        ),
        EnvPanelField("options", "text", "tw-make's options, or ScienceWorld's simplifications"),
        EnvPanelField("game_seed", "number", "Game's seed (empty: the episode's)", min=0),
        EnvPanelField("seed", "number", "Seed", min=0),
        EnvPanelField("episode_index", "number", "Episode", min=0),
    ]
    actions = [EnvPanelAction("play", "Play", side_effect="reset")]

    def __init__(self) -> None:
        self._form: dict[str, Any] = {}
        self._played = False

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        if self._played:
            self._form, self._played = {}, False
        self._form[name] = value
        return await self.on_load()

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        if name != "play":
            return {"ok": False, "error": f"action {name!r} does not exist; the only one is play"}
        self._played = True
        task, options = (str(self._form.get(field) or "") for field in ("task_id", "options"))
        seed = self._form.get("game_seed", self._form.get("seed", 0))
        try:
            self._context["nodeset"].table.open(task or "textworld/simple", options, int(seed))
        except ImportError as error:
            where = (
                f"pip install 'evaltower[simulators]' for {sys.executable}, or set EVALTOWER_TEXTGAME_PYTHON"
            )
            return {"ok": False, "error": f"{task} needs a library that is not there ({error}): {where}"}
        except (OSError, ValueError) as error:
            return {"ok": False, "error": str(error)}
        return {"ok": True, "side_effect": "reset"}

    async def on_load(self) -> dict[str, Any]:
        table = self._context["nodeset"].table
        if table.game is None:
            return {"current_episode": {}, "step_budget": STEP_BUDGET}
        task, _, seed = table.chosen
        current = {"episode_id": f"{task}#{seed}", "scene_id": task, "instruction": table.game.instruction}
        return {"current_episode": current, "step_budget": STEP_BUDGET}
