"""Choosing the episode."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.components import BaseEnvPanel, EnvPanelAction, EnvPanelField, refusal

from .episodes import EPISODES_PER_SPLIT, SPLITS, make_episode
from .simulator import STEP_BUDGET, Simulator
from .stage import Stage


class GridhousePanel(BaseEnvPanel):
    """``split`` and ``episode_index`` say which episode; ``slip`` and ``seed`` how often and when actions
    go wrong.

    Fields are gathered as they come and judged at ``play``.
    """

    name = "env_gridhouse"
    display_name = "Gridhouse"
    only_fields = True
    fields: ClassVar[list[EnvPanelField]] = [
        EnvPanelField("split", "select", "Split", options=list(SPLITS)),
        EnvPanelField("episode_index", "number", "Episode", min=0, max=EPISODES_PER_SPLIT - 1, step=1),
        EnvPanelField("slip", "slider", "Chance that a move goes wrong", min=0, max=1, step=0.05),
    ]
    actions: ClassVar[list[EnvPanelAction]] = [EnvPanelAction("play", "Play", side_effect="reset")]

    def __init__(self) -> None:
        self._chosen: dict[str, Any] = {"split": "val_unseen", "episode_index": 0, "slip": 0.0, "seed": 0}

    @property
    def _stage(self) -> Stage:
        return self._context["nodeset"].stage

    async def on_load(self) -> dict[str, Any]:
        episode = self._stage.simulator.episode
        current = {
            "episode_id": episode.episode_id,
            "episode_index": episode.index,
            "scene_id": episode.scene_id,
            "split": episode.split,
            "instruction": episode.instruction,
        }
        return {"current_episode": current, "step_budget": STEP_BUDGET, **self._chosen}

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        if name in self._chosen:
            self._chosen[name] = value
        return await self.on_load()

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        if name != "play":
            return {"ok": False, "error": f"action {name!r} does not exist; the only one is play"}
        try:
            self._stage.simulator = self._simulator()
        except Exception as error:
            return refusal(error, self.name)
        return {"ok": True, "side_effect": "reset"}

    async def get_options(self, field: str) -> list[dict[str, Any]]:
        return [{"value": split, "label": split} for split in SPLITS] if field == "split" else []

    def _simulator(self) -> Simulator:
        index = _number("episode_index", self._chosen["episode_index"])
        if not index.is_integer():
            raise ValueError(f"episode_index {index:g} is not a whole number")
        slip = _number("slip", self._chosen["slip"])
        if not 0 <= slip <= 1:
            raise ValueError(f"slip {slip:g} is not a probability; it must lie between 0 and 1")
        return Simulator(make_episode(self._chosen["split"], int(index)), slip, self._chosen["seed"])


def _number(name: str, value: Any) -> float:
    """From a number or its text, as a command line gives it."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} {value!r} is not a number") from None
