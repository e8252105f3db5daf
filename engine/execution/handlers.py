"""What fires a node in this process: the built-in ones. Nodesets are reached through hosts."""

from __future__ import annotations

import time
import traceback
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Any

from engine.components.bases import BaseCanvasNode
from engine.components.context import NodeContext
from engine.components.errors import HostFailure, NodeRaised, StopExecution
from engine.components.firelist import FireList, aggregate_with, checked_outputs
from engine.components.firing import FiringRequest, FiringResult, NodeHandler, Spawned
from engine.execution.builtins.history_log import HistoryLog
from engine.execution.builtins.llm_call import LLMCall
from engine.execution.builtins.sources import EpisodeSource, NullSource
from engine.execution.builtins.text_parse import TextParse
from engine.graph.model import Node
from engine.models.call import Chat

_BUILTINS: dict[str, type[BaseCanvasNode]] = {
    node.node_type: node for node in (EpisodeSource, HistoryLog, NullSource, TextParse)
}


def builtin_handler(node: Node, chat: Chat, wired: Collection[str] = ()) -> NodeHandler | None:
    """A handler for one built-in node for one episode; None where a nodeset has to fire it.

    ``chat`` answers the ``llmCall`` nodes. ``wired``: the inputs that have an edge. The ends of loops, graph
    boundaries and sinks need no handler: the executor knows them.
    """
    if node.type == LLMCall.node_type:
        return LocalHandler(LLMCall(chat, wired))
    made = _BUILTINS.get(node.type)
    return LocalHandler(made()) if made is not None else None


class LocalHandler:
    """Fires one node object, which serves one node of one graph for one episode."""

    def __init__(self, node: BaseCanvasNode) -> None:
        self._node = node
        self._initialized = False

    async def fire(self, request: FiringRequest) -> FiringResult:
        """Raises StopExecution and HostFailure as the node raised them, NodeRaised for anything else."""
        return await self._timed(request, self._forward)

    async def _forward(self, request: FiringRequest, ctx: NodeContext) -> FiringResult:
        node = self._node
        if not self._initialized:
            node.config, node.node_id = dict(request.config), request.node_id
            await node.initialize()
            self._initialized = True
        outputs: object = await node.forward(request.inputs, ctx)
        if isinstance(outputs, FireList):
            return FiringResult({}, spawned=Spawned(outputs.checked(), partial(self._aggregate, request)))
        return FiringResult(checked_outputs("forward", outputs))

    async def _aggregate(self, request: FiringRequest, results: list[dict[str, Any]]) -> FiringResult:
        async def work(request: FiringRequest, ctx: NodeContext) -> FiringResult:
            return FiringResult(checked_outputs("aggregate", aggregate_with(self._node, results)))

        return await self._timed(request, work)

    async def _timed(
        self,
        request: FiringRequest,
        work: Callable[[FiringRequest, NodeContext], Awaitable[FiringResult]],
    ) -> FiringResult:
        ctx = NodeContext(
            request.containers.granted(request.granted),
            request.step,
            request.execution_id,
            request.key,
            request.episode,
        )
        started = time.perf_counter()
        try:
            result = await work(request, ctx)
        except (StopExecution, HostFailure):
            raise
        except Exception as error:
            summary = f"{type(error).__name__}: {error}"
            raise NodeRaised(summary, traceback.format_exc(), self._node.take_inner_log()) from error
        for signal in ctx.signals:
            request.containers.signal(signal["signal"])
        result.compute_ms = (time.perf_counter() - started) * 1000
        result.inner_log, result.events = self._node.take_inner_log(), ctx.events
        return result
