"""The control plane of an environment: choose the split and the episode, commit, read what was set up.

Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass
class EnvPanelField:
    """An input of the panel. ``kind`` is ``select``, ``number``, ``text`` or ``slider``.

    A run that selects what is none of a ``select``'s ``options``, or beyond a number's bounds, is refused
    before it starts; a ``text`` may be anything, and its ``placeholder`` tells examples. ``step`` 1: a
    ``number`` that is whole. ``optional``: empty is a value of its own; of any other field it is refused.
    """

    name: str
    kind: str
    label: str
    options: list[str] | None = None
    min: float | None = None
    max: float | None = None
    step: float | None = None
    placeholder: str | None = None
    optional: bool = False


def seed_field(name: str, label: str) -> EnvPanelField:
    """A seed that stands instead of the episode's, where it is given."""
    return EnvPanelField(name, "number", label, min=0, max=2**32 - 1, step=1, optional=True)


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
    fields: list[dict[str, Any]]
    actions: list[dict[str, Any]]
    only_fields: bool = False


class BaseEnvPanel(ABC):
    """What an environment answers when an episode is set up.

    The run calls ``on_field_change`` for each selector in order, then ``seed`` (int), then ``episode_index``
    (int); ``on_action("play", {})`` commits and must answer ``{"ok": True}``, else its ``error`` ends the
    episode; ``on_load()`` answers ``{"current_episode": {episode_id, scene_id, instruction, ...},
    "step_budget": int?}``. Unknown fields are ignored; with ``only_fields``, which says that ``fields`` are
    all that there are, a run that selects another is refused before it starts.
    """

    name: ClassVar[str]
    display_name: ClassVar[str] = ""
    fields: ClassVar[list[EnvPanelField]] = []
    actions: ClassVar[list[EnvPanelAction]] = []
    only_fields: ClassVar[bool] = False

    _context: ClassVar[dict[str, Any]] = {}

    def info(self) -> EnvPanelInfo:
        return EnvPanelInfo(
            name=self.name,
            display_name=self.display_name or self.name,
            fields=[asdict(f) for f in self.fields],
            actions=[asdict(a) for a in self.actions],
            only_fields=self.only_fields,
        )

    @abstractmethod
    async def on_load(self) -> dict[str, Any]:
        """The panel's state."""

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        return await self.on_load()

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True, "side_effect": "none"}

    async def get_options(self, field: str) -> list[dict[str, Any]]:
        return []
