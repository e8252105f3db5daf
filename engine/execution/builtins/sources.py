"""Built-in nodes that need no input: they fire once, at the start of an episode."""

from __future__ import annotations

from typing import Any

from engine.components.bases import BaseCanvasNode
from engine.components.context import NodeContext


class NullSource(BaseCanvasNode):
    """``nullSource``: null, for a port that must be wired and has nothing to get."""

    node_type = "nullSource"

    async def forward(self, inputs: dict[str, Any], ctx: NodeContext) -> dict[str, Any]:
        return {"value": None}


class EpisodeSource(BaseCanvasNode):
    """``episodeSource``: ``episode_index``, ``seed``, ``selectors``, and each selector by its name."""

    node_type = "episodeSource"

    async def forward(self, inputs: dict[str, Any], ctx: NodeContext) -> dict[str, Any]:
        return {**ctx.episode["selectors"], **ctx.episode}
