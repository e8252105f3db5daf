"""The control plane of an environment: choose the split and the episode, commit, read what was set up.

Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Dict, List, Optional


@dataclass
class EnvPanelField:
    """An input of the panel. ``kind`` is ``select``, ``number``, ``text`` or ``slider``."""

    name: str
    kind: str
    label: str
    options: Optional[List[str]] = None
    min: Optional[float] = None
    max: Optional[float] = None
    step: Optional[float] = None
    placeholder: Optional[str] = None


@dataclass
class EnvPanelAction:
    """A button of the panel."""

    name: str
    label: str
    side_effect: str = "none"
    enabled_when: str = "always"


@dataclass
class EnvPanelInfo:
    """The panel's schema."""

    name: str
    display_name: str
    fields: List[Dict[str, Any]]
    actions: List[Dict[str, Any]]


class BaseEnvPanel(ABC):
    """What an environment answers when an episode is set up.

    The run calls ``on_field_change`` for each selector in order, then ``seed`` (int), then ``episode_index``
    (int); ``on_action("play", {})`` commits and must answer ``{"ok": True}``, else its ``error`` ends the
    episode; ``on_load()`` answers ``{"current_episode": {episode_id, scene_id, instruction, ...},
    "step_budget": int?}``. Unknown fields are ignored.
    """

    name: ClassVar[str]
    display_name: ClassVar[str] = ""
    fields: ClassVar[List[EnvPanelField]] = []
    actions: ClassVar[List[EnvPanelAction]] = []

    _context: Dict[str, Any] = {}

    def info(self) -> EnvPanelInfo:
        return EnvPanelInfo(
            name=self.name,
            display_name=self.display_name or self.name,
            fields=[asdict(f) for f in self.fields],
            actions=[asdict(a) for a in self.actions],
        )

    @abstractmethod
    async def on_load(self) -> Dict[str, Any]:
        """The panel's state."""

    async def on_field_change(self, name: str, value: Any) -> Dict[str, Any]:
        return await self.on_load()

    async def on_action(self, name: str, params: Dict[str, Any]) -> Dict[str, Any]:
        return {"ok": True, "side_effect": "none"}

    async def get_options(self, field: str) -> List[Dict[str, Any]]:
        return []
