"""What fires a node in this process: the built-in ones. Nodesets are reached through hosts."""

from __future__ import annotations

import time
import traceback
from typing import Any

from engine.components.bases import BaseCanvasNode
from engine.components.context import NodeContext
from engine.components.errors import HostFailure, NodeRaised, StopExecution
from engine.components.firing import FiringRequest, FiringResult, NodeHandler
from engine.execution.builtins.history_log import HistoryLog
from engine.execution.builtins.llm_call import LLMCall
from engine.execution.builtins.sources import EpisodeSource, NullSource
from engine.execution.builtins.text_parse import TextParse
from engine.graph.model import Node
from engine.models.call import Chat

_BUILTINS: dict[str, type[BaseCanvasNode]] = {
    node.node_type: node for node in (EpisodeSource, HistoryLog, NullSource, TextParse)
}


def builtin_handler(node: Node, chat: Chat) -> NodeHandler | None:
    """A handler for one built-in node for one episode; None where a nodeset has to fire it.

    ``chat`` answers the ``llmCall`` nodes. The ends of loops, graph boundaries and sinks need no handler:
    the executor knows them.
    """
    if node.type == LLMCall.node_type:
        return LocalHandler(LLMCall(chat))
    made = _BUILTINS.get(node.type)
    return LocalHandler(made()) if made is not None else None


class LocalHandler:
    """Fires one node object, which serves one node of one graph for one episode."""

    def __init__(self, node: BaseCanvasNode) -> None:
        self._node = node
        self._initialized = False

    async def fire(self, request: FiringRequest) -> FiringResult:
        """Raises StopExecution and HostFailure as the node raised them, NodeRaised for anything else."""
        node = self._node
        ctx = NodeContext(
            request.containers.granted(request.granted),
            request.step,
            request.execution_id,
            request.key,
            request.episode,
        )
        started = time.perf_counter()
        try:
            if not self._initialized:
                node.config, node.node_id = dict(request.config), request.node_id
                await node.initialize()
                self._initialized = True
            outputs = _checked(await node.forward(request.inputs, ctx))
        except (StopExecution, HostFailure):
            raise
        except Exception as error:
            summary = f"{type(error).__name__}: {error}"
            raise NodeRaised(summary, traceback.format_exc(), node.take_inner_log()) from error
        for signal in ctx.signals:
            request.containers.signal(signal["signal"])
        elapsed = (time.perf_counter() - started) * 1000
        return FiringResult(outputs, node.take_inner_log(), ctx.events, compute_ms=elapsed)


def _checked(outputs: Any) -> dict[str, Any]:
    if isinstance(outputs, dict):
        return outputs
    kind = type(outputs).__name__
    if kind == "FireList":
        raise TypeError("it returned a FireList; dynamic children are not run in this version")
    raise TypeError(f"forward returned {kind}, not a dict of outputs")
