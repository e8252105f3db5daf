"""What a host keeps of its nodeset: its panel, and for each execution its nodes and its containers.

Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

import copy
import logging
import time
import traceback
from collections import defaultdict
from typing import Any, Mapping, Sequence, Tuple

from engine.components.bases import BaseCanvasNode, BaseNodeSet
from engine.components.containers import ContainerStore, RecordingContainers
from engine.components.context import NodeContext
from engine.components.env_panel import BaseEnvPanel
from engine.components.errors import HostFailure, SimulatorFailed, StopExecution, WrongChoice
from engine.components.firelist import FireList, aggregate_with, checked_outputs
from engine.components.loading import load_nodeset, source_hash
from engine.hosting.forward import BadOutput
from engine.hosting.host_batchers import Batchers
from engine.hosting.host_manifest import manifest, versions_here

log = logging.getLogger(__name__)

_Place = Tuple[str, str]  # (execution, node)


class HostedNodeset:
    """A loaded nodeset, its panel where it has one, and everything that lives as long as an episode does."""

    def __init__(self, nodeset: BaseNodeSet, source_hash: str = "") -> None:
        self.nodeset = nodeset
        self._source_hash, self._versions = source_hash, versions_here(nodeset)
        self.panel: BaseEnvPanel | None = nodeset.env_panel() if nodeset.env_panel else None
        if self.panel is not None:
            self.panel._context = {"mode": "local", "nodeset_name": nodeset.name, "nodeset": nodeset}
        self.tools: dict[str, BaseCanvasNode] = {tool.node_type: tool for tool in nodeset.get_tools()}
        self.batchers = Batchers(nodeset)
        self._owned = list(nodeset.get_containers())
        self._stores: dict[str, ContainerStore] = {}
        self._instances: dict[_Place, BaseCanvasNode] = {}
        self._kept: defaultdict[_Place, dict[str, Any]] = defaultdict(dict)

    @classmethod
    async def load(cls, path: str, name: str, workspaces: Sequence[str] = ()) -> HostedNodeset:
        """Import, construct and initialize it, and check its batched tools. Passes on whatever goes wrong."""
        hashed = source_hash(path)
        nodeset = load_nodeset(path, name, workspaces)
        await nodeset.initialize()
        hosted = cls(nodeset, hashed)
        for tool in hosted.tools.values():
            if tool.batched:
                await hosted._check_with_default_config(tool)
        return hosted

    async def _check_with_default_config(self, tool: BaseCanvasNode) -> None:
        try:
            await self.batchers.get(tool, {})
        except Exception:
            log.warning("%s cannot run with its default config", tool.node_type, exc_info=True)

    async def call(
        self,
        fn: str,
        inputs: Mapping[str, Any],
        config: Mapping[str, Any],
        execution: Mapping[str, Any],
        caller: str | None,
    ) -> dict[str, Any]:
        """Fire a node once: ``{outputs, inner_log, events, writes, signals, timing}``.

        With ``error`` instead of ``outputs`` where it raised; what it did before that is there all the same.
        With ``__firelist__``, as AgentCanvas has it, where it wants children fired; then it is called again,
        with their ``results`` in ``execution``, for its outputs.
        """
        if self.tools[fn].batched:
            return await self._call_batched(fn, inputs, config, execution, caller)
        began = time.perf_counter()
        place = _place(fn, execution)
        try:
            own = self._store(place[0], execution.get("signals", ()))
            containers = RecordingContainers(execution.get("containers", {}))
        except Exception as error:  # no run of ours sends such
            return {"error": describe(error)}
        containers.update(own.granted(container.id for container in self._owned))
        context = NodeContext(
            containers,
            execution.get("step", 0),
            execution.get("execution_id", ""),
            execution.get("key", 0),
            execution.get("episode"),
            self._kept[place],
        )
        reply: dict[str, Any] = {}
        inner_log: list[dict[str, Any]] = []
        try:
            node = await self._instance(fn, place, config)
            try:
                made = await _fired(node, dict(inputs), context, execution.get("results"))
                if isinstance(made, FireList):
                    reply["__firelist__"] = _as_data(made, fn, execution)
                else:
                    reply["outputs"] = _checked(made, fn, execution)
            finally:
                inner_log = node.take_inner_log()
                if execution.get("parent_node_id"):  # a dynamic child fires once
                    await self._end(place)
        except Exception as error:
            reply["error"] = describe(error)
        for signal in context.signals:
            own.signal(signal["signal"])
        reply.update(
            inner_log=inner_log,
            events=context.events,
            writes=containers.writes,
            signals=context.signals,
            timing={"compute_ms": (time.perf_counter() - began) * 1e3, "queue_wait_ms": 0.0},
        )
        return reply

    async def _call_batched(
        self,
        fn: str,
        inputs: Mapping[str, Any],
        config: Mapping[str, Any],
        execution: Mapping[str, Any],
        caller: str | None,
    ) -> dict[str, Any]:
        try:
            batcher = await self.batchers.get(self.tools[fn], config)
            sample = dict(inputs, _key=execution.get("key", 0))
            outputs, queue_wait_ms, compute_ms = await batcher.submit(sample, caller)
            timing = {"compute_ms": compute_ms, "queue_wait_ms": queue_wait_ms}
            return {"outputs": _checked(outputs, fn, execution), "timing": timing}
        except Exception as error:
            return {"error": describe(error)}

    async def _instance(self, fn: str, place: _Place, config: Mapping[str, Any]) -> BaseCanvasNode:
        node = self._instances.get(place)
        if node is None:
            node = copy.copy(self.tools[fn])
            node.node_id = place[1]
            node.config = dict(node.default_config, **config)
            await node.initialize()
            self._instances[place] = node
        elif not place[0]:  # nobody's episode: each call may be of another of the canvas's nodes
            node.config = dict(node.default_config, **config)
        return node

    def _store(self, execution_id: str, signals: Sequence[str]) -> ContainerStore:
        """The execution's own copy of the nodeset's containers. ``signals``: those since its last call."""
        if execution_id not in self._stores:
            self._stores[execution_id] = ContainerStore(self._owned)
        for signal in signals:
            self._stores[execution_id].signal(signal)
        return self._stores[execution_id]

    async def evict(self, key: str) -> int:
        """An episode is over; ``key``: its execution, or an id by which nodes of a canvas partition.

        Its nodes and its copy of the nodeset's containers go, and its partition of what the canvas shares.
        The number of containers that were looked through.
        """
        self._stores.pop(key, None)
        for store in self._stores.values():
            store.evict(key)
        for place in [place for place in self._instances if place[0] == key]:
            await self._end(place)
        return len(self._owned)

    async def end_run(self, run: str) -> None:
        """A run is over, perhaps without a word: nothing waits for its workers any more, its episodes go."""
        self.batchers.forget(run + "/")
        executions = {*self._stores, *(place[0] for place in self._instances)}
        for execution_id in executions:
            if execution_id.startswith(run + "/"):
                await self.evict(execution_id)

    async def _end(self, place: _Place) -> None:
        self._kept.pop(place, None)
        await _shut_down(self._instances.pop(place))

    async def close(self) -> None:
        """Shut everything down, in the reverse order of its start."""
        for execution_id in {place[0] for place in self._instances}:
            await self.evict(execution_id)
        await self.batchers.close()
        await self.nodeset.shutdown()

    def manifest(self) -> dict[str, Any]:
        """What runs here, and how its batched tools were found to run."""
        batching = self.batchers.records()
        return manifest(self.nodeset, self.tools, self._source_hash, self._versions, batching)


def describe(error: Exception) -> dict[str, str]:
    """An exception on the wire. ``kind``: ``stop`` ends the run cleanly; ``infra``, of a HostFailure that the
    node itself raised; ``unfit``, of a SimulatorFailed; ``config``, of a WrongChoice; ``bad_output``, or
    ``raised``."""
    if isinstance(error, StopExecution):
        return {"kind": "stop", "type": "StopExecution", "message": _text(error.reason), "trace": ""}
    if isinstance(error, BadOutput):
        return {"kind": "bad_output", "type": "BadOutput", "message": str(error), "trace": ""}
    if isinstance(error, HostFailure):
        kind = "unfit" if isinstance(error, SimulatorFailed) else "infra"
        told = {"kind": kind, "type": type(error).__name__, "message": str(error), "trace": ""}
        return {**told, "cause": error.cause}
    if isinstance(error, WrongChoice):
        return {"kind": "config", "type": "WrongChoice", "message": _text(error), "trace": ""}
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return {"kind": "raised", "type": type(error).__name__, "message": _text(error), "trace": trace}


def _text(said: Any) -> str:
    try:
        return str(said)
    except Exception as error:
        return f"(its text cannot be had: {type(error).__name__})"


def node_words(fn: str, execution: Mapping[str, Any]) -> str:
    """The node that fires, in a message."""
    return f"node {execution.get('node_id', fn)!r} ({fn})"


async def _fired(
    node: BaseCanvasNode, inputs: dict[str, Any], context: NodeContext, results: list[dict[str, Any]] | None
) -> Any:
    if results is not None:
        return aggregate_with(node, results)
    return await node.forward(inputs, context)


def _checked(outputs: Any, fn: str, execution: Mapping[str, Any]) -> dict[str, Any]:
    method = "forward" if execution.get("results") is None else "aggregate"
    try:
        return checked_outputs(method, outputs)
    except TypeError as error:
        raise BadOutput(f"{node_words(fn, execution)}: {error}") from None


def _as_data(children: FireList, fn: str, execution: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return children.as_data()
    except (TypeError, ValueError) as error:
        raise BadOutput(f"{node_words(fn, execution)}: {error}") from None


def _place(fn: str, execution: Mapping[str, Any]) -> _Place:
    return execution.get("execution_id", ""), execution.get("node_id", fn)


async def _shut_down(node: BaseCanvasNode) -> None:
    try:
        await node.shutdown()
    except Exception:
        log.exception("node %s (%s) failed to shut down", node.node_id, node.node_type)
