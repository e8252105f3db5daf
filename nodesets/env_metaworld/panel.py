"""Choosing the task, and where things lie in it."""

from __future__ import annotations

from typing import Any

from engine.components import BaseEnvPanel, EnvPanelAction, EnvPanelField

from .trial import STEP_LIMIT


class MetaWorldPanel(BaseEnvPanel):
    """Fields are gathered as they come and judged at ``play``; the first change after that begins a new form,
    so that nothing selected for one episode is left over for the next."""

    name = "env_metaworld"
    fields = [
        EnvPanelField("task_id", "text", "Task", placeholder="reach-v3; empty: the fifty in turn"),
        EnvPanelField("frames", "select", "Frames", options=["none", "render"]),
        EnvPanelField("until", "select", "An episode ends at", options=["success", "limit"]),
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
        try:
            for field in self.fields:
                if field.options and self._form.get(field.name, field.options[0]) not in field.options:
                    raise ValueError(f"selector {field.name} takes {' or '.join(field.options)}")
            self._context["nodeset"].bench.choose(dict(self._form))
        except (ImportError, ValueError) as error:
            return {"ok": False, "error": str(error)}
        return {"ok": True, "side_effect": "reset"}

    async def on_load(self) -> dict[str, Any]:
        """``scene_id`` is the task: intervals over many tasks are by task."""
        trial = self._context["nodeset"].bench.trial
        current = trial and {
            "episode_id": f"{trial.task_id}#{trial.seed}",
            "scene_id": trial.task_id,
            "instruction": trial.task_id.rpartition("-")[0].replace("-", " "),
        }
        return {"current_episode": current or {}, "step_budget": STEP_LIMIT}
