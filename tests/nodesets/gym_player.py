"""Plays env_gymnasium in this process, the way a host does."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import engine
from engine.components import BaseNodeSet, NodeContext
from engine.components.loading import load_classes
from engine.components.seeds import firing_key

NODESETS = Path(engine.__file__).parent.parent / "nodesets"
FAKES = "tests.nodesets.gym_fakes:"


@cache
def nodeset_class(name: str) -> type[BaseNodeSet]:
    """The built-in nodeset's class, loaded by its path."""
    (found,) = load_classes(NODESETS / name)
    return found


class Player:
    def __init__(self) -> None:
        self.nodeset: Any = nodeset_class("env_gymnasium")()
        self.panel = self.nodeset.env_panel()
        self.panel._context = {"nodeset": self.nodeset}
        self.tools = {tool.node_type.split("__")[1]: tool for tool in self.nodeset.get_tools()}
        self.firings = 0

    async def choose(self, seed: int = 1, **selectors: Any) -> dict[str, Any]:
        """Select, and press play; what the panel answers."""
        for name, value in {**selectors, "seed": seed, "episode_index": 0}.items():
            await self.panel.on_field_change(name, value)
        answer: dict[str, Any] = await self.panel.on_action("play", {})
        return answer

    async def fire(self, tool: str, config: dict[str, Any] | None = None, **inputs: Any) -> dict[str, Any]:
        node = self.tools[tool]
        node.config = {**node.default_config, **(config or {})}
        self.firings += 1
        context = NodeContext({}, self.firings, "execution", firing_key(0, tool, self.firings))
        outputs: dict[str, Any] = await node.forward(inputs, context)
        return outputs

    async def episode(self, agent: str, seed: int, **selectors: Any) -> dict[str, float]:
        """A whole episode; its metrics."""
        self.firings = 0
        answer = await self.choose(seed, **selectors)
        assert answer["ok"], answer
        await self.fire("reset")
        done = False
        while not done:
            action = (await self.fire(agent, trigger=None))["action"]
            done = (await self.fire("step_discrete", action=action))["done"]
        metrics: dict[str, float] = (await self.fire("evaluate", trigger=None))["metrics"]
        return metrics
