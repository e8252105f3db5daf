"""The control plane: what to play next, and what was set up."""

from __future__ import annotations

from typing import Any

from engine.components import BaseEnvPanel, refusal
from engine.components.env_panel import EnvPanelAction, EnvPanelField, seed_field

from .choice import FRAMES, Choice
from .seed_check import check_seed
from .session import Session


class GymnasiumPanel(BaseEnvPanel):
    """Fields are what an operator selects. The first change after "play" begins a new, empty form, so that
    nothing selected for one episode is left over for the next."""

    name = "env_gymnasium"
    display_name = "Gymnasium"
    only_fields = True
    fields = [
        EnvPanelField(
            "env_id", "text", "Environment", placeholder="BabyAI-GoToLocal-v0 or package.module:Class"
        ),
        EnvPanelField("env_kwargs", "text", "Arguments (JSON)", placeholder='{"size": 8}', optional=True),
        seed_field("env_seed", "Environment seed (empty: the episode's)"),
        EnvPanelField("frames", "select", "Frames", options=list(FRAMES)),
        EnvPanelField("reuse", "select", "Keep the environment object", options=["no", "yes"]),
        EnvPanelField("seed", "number", "Episode seed", min=0),
        EnvPanelField("episode_index", "number", "Episode", min=0),
    ]
    actions = [
        EnvPanelAction("play", "Play", side_effect="reset"),
        EnvPanelAction("check_seed", "Measure which seeds it honours"),
    ]

    def __init__(self) -> None:
        self._form: dict[str, Any] = {}
        self._played = False

    @property
    def _session(self) -> Session:
        session: Session = self._context["nodeset"].session
        return session

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        if self._played:
            self._form, self._played = {}, False
        self._form[name] = value
        return await self.on_load()

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """``play`` makes and resets the environment; ``check_seed`` adds ``honoured``, see ``seed_check``."""
        self._played = self._played or name == "play"
        try:
            choice = Choice.from_form(self._form)
            if name == "check_seed":
                choice = choice.completed({})
        except ValueError as error:
            return {"ok": False, "error": str(error)}
        try:
            if name == "play":
                self._session.choose(choice)
                return {"ok": True, "side_effect": "reset"}
            if name == "check_seed":
                return {"ok": True, "side_effect": "none", "honoured": check_seed(choice)}
        except ValueError as error:
            return {"ok": False, "error": f"{choice.env_id}: {type(error).__name__}: {error}"}
        except Exception as error:
            return refusal(error, self.name)
        return {"ok": False, "error": f"env_gymnasium has no action {name!r}; it has play and check_seed"}

    async def on_load(self) -> dict[str, Any]:
        """``current_episode`` is empty before "play", and while the graph has yet to name the environment."""
        episode = self._session.episode
        if episode is None:
            return {"current_episode": {}, "step_budget": None}
        choice = episode.choice
        return {
            "current_episode": {
                "episode_id": f"{choice.env_id}#{choice.seed}",
                "scene_id": choice.env_id,
                "instruction": episode.instruction,
                "seed": choice.seed,
                "seeded_at": episode.adapter.seeded_at,
            },
            "step_budget": episode.step_limit,
        }
