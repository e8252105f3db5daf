"""A nodeset's batched tool in this process, set up and called the way a host does it."""

from __future__ import annotations

from typing import Any

from engine.hosting.forward import ForwardThread
from engine.hosting.selfcheck import Verdict, check
from tests.nodesets.gym_player import nodeset_class


class BatchedTool:
    def __init__(self, nodeset: str, node_type: str = "", **config: Any) -> None:
        tools = nodeset_class(nodeset)().get_tools()
        self.tool: Any = next(tool for tool in tools if node_type in tool.node_type and tool.batched)
        self.tool.config = {**self.tool.default_config, **config}

    async def ready(self) -> BatchedTool:
        await self.tool.initialize()
        return self

    async def act(self, *samples: dict[str, Any]) -> list[dict[str, Any]]:
        keyed = [{"_key": 0, **sample} for sample in samples]
        outputs: list[dict[str, Any]] = (await self.tool.forward({"_samples": keyed}, None))["_outputs"]
        assert len(outputs) == len(samples)
        return outputs

    async def verdict(self, most: int = 4) -> Verdict:
        """What the check at load finds, in a thread whose numerics are pinned."""
        thread = ForwardThread()
        try:
            return await thread.run(check, self.tool, most)
        finally:
            await thread.close()
