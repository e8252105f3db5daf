"""Plays env_gridhouse and policy_gridhouse in this process, the way their hosts do."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import engine
from engine.components import BaseNodeSet, NodeContext
from engine.components.loading import load_classes
from engine.components.seeds import firing_key

NODESETS = Path(engine.__file__).parent.parent / "nodesets"


@cache
def nodeset_class(name: str) -> type[BaseNodeSet]:
    """The built-in nodeset's class, loaded by its path."""
    (found,) = load_classes(NODESETS / name)
    return found


class House:
    """A process of env_gridhouse: its panel and its tools."""

    def __init__(self) -> None:
        self.nodeset: Any = nodeset_class("env_gridhouse")()
        self.panel = self.nodeset.env_panel()
        self.panel._context = {"nodeset": self.nodeset}
        self._tools = {tool.node_type.split("__")[1]: tool for tool in self.nodeset.get_tools()}

    async def choose(self, split: Any, index: Any, seed: int = 1, **selectors: Any) -> dict[str, Any]:
        """Select, and press play; what the panel answers."""
        for name, value in {"split": split, **selectors, "seed": seed, "episode_index": index}.items():
            await self.panel.on_field_change(name, value)
        answer: dict[str, Any] = await self.panel.on_action("play", {})
        return answer

    async def fire(self, tool: str, key: int = 0, **inputs: Any) -> dict[str, Any]:
        node = copy.copy(self._tools[tool])
        node.config = dict(node.default_config)
        outputs: dict[str, Any] = await node.forward(inputs, NodeContext({}, 0, "execution", key))
        return outputs


async def act(tool: Any, samples: list[dict[str, Any]], **config: Any) -> list[dict[str, Any]]:
    """One call of the policy for several callers."""
    node = copy.copy(tool)
    node.config = {**node.default_config, **config}
    await node.initialize()
    outputs: list[dict[str, Any]] = (await node.forward({"_samples": samples}, None))["_outputs"]
    return outputs


async def follow(house: House, tool: Any, steps: int, **config: Any) -> dict[str, float]:
    """An episode with the policy, on its own; its metrics."""
    seen = await house.fire("reset")
    instruction, hidden = seen["instruction"], None
    for step in range(steps):
        sample = {"rgb": seen["rgb"], "instruction": instruction, "_key": firing_key(0, "agent", step)}
        (out,) = await act(tool, [sample if hidden is None else {**sample, "hidden_in": hidden}], **config)
        hidden = out["hidden_out"]
        seen = await house.fire("step_discrete", action=out["action"])
        if seen["terminated"]:
            break
    metrics: dict[str, float] = (await house.fire("evaluate"))["metrics"]
    return metrics
