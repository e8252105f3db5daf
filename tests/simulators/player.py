"""Plays a nodeset in this process, the way a host does."""

from __future__ import annotations

from typing import Any

from engine.components import NodeContext
from engine.components.seeds import firing_key
from tests.nodesets.gym_player import nodeset_class


class Player:
    def __init__(self, nodeset: str) -> None:
        self.nodeset: Any = nodeset_class(nodeset)()
        self.panel = self.nodeset.env_panel()
        self.panel._context = {"nodeset": self.nodeset}
        self.tools = {tool.node_type.split("__")[1]: tool for tool in self.nodeset.get_tools()}

    async def choose(self, seed: int = 1, **selectors: Any) -> dict[str, Any]:
        """Select, and press play; what the panel answers."""
        for name, value in {**selectors, "seed": seed, "episode_index": 0}.items():
            await self.panel.on_field_change(name, value)
        answer: dict[str, Any] = await self.panel.on_action("play", {})
        return answer

    async def begin(self, seed: int = 1, **selectors: Any) -> dict[str, Any]:
        """Choose, and reset; what reset gives."""
        answer = await self.choose(seed, **selectors)
        assert answer["ok"], answer
        return await self.fire("reset")

    async def fire(self, tool: str, **inputs: Any) -> dict[str, Any]:
        context = NodeContext({}, 1, "execution", firing_key(0, tool, 1))
        outputs: dict[str, Any] = await self.tools[tool].forward(inputs, context)
        return outputs
