"""Fires one node at a time, and turns whatever comes of it into outputs and a record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from engine.components.builtin_ports import SINKS
from engine.components.containers import ContainerStore
from engine.components.errors import HostFailure, NodeRaised, StopExecution, WrongChoice
from engine.components.firelist import FireSpec, apply_recipe
from engine.components.firing import FiringRequest, FiringResult, NodeHandler, Spawned
from engine.components.seeds import derive, firing_key
from engine.execution.hooks import Hooks, Verdict
from engine.execution.live import LiveNode
from engine.execution.outcome import EpisodeContext, NodeError, Outcome
from engine.execution.record import Firing, FiringSink
from engine.graph.model import Node, PortResolver
from engine.graph.plan import PlannedNode

LONGEST_MESSAGE = 2000
"""Characters of an error's message that are kept."""

NO_CHILDREN = ("graphIn", "graphOut", "iterIn", "iterOut")
"""Node types that no dynamic child may have: they mean something only where they are drawn."""


class Firer:
    """Fires the nodes of one episode; what goes wrong is entered in its ``outcome``.

    ``resolve`` gives the ports of dynamic children, or None where nothing fires their type.
    """

    def __init__(
        self,
        handlers: Callable[[Node], NodeHandler],
        episode: EpisodeContext,
        containers: ContainerStore,
        log: FiringSink,
        outcome: Outcome,
        hooks: Hooks,
        resolve: PortResolver,
    ) -> None:
        self._handlers = handlers
        self._episode = episode
        self._facts = episode.facts()
        self._containers = containers
        self._log = log
        self._outcome = outcome
        self._hooks = hooks
        self._resolve = resolve

    async def fire(self, node: LiveNode, step: int) -> Mapping[str, Any]:
        """The outputs; empty where it failed. Raises only what the log's disk raises."""
        if node.type == "graphOut":
            inputs, notes = await self.through_hooks(node, step, node.take())
            return self.note(node, step, inputs, inputs, notes)
        if node.type in SINKS or node.type == "graphIn":
            inputs, notes = await self.through_hooks(node, step, node.take())
            return self.note(node, step, inputs, {}, notes)
        key = firing_key(self._episode.seed, node.id, node.firings)
        node.firings += 1
        request = self._request(node.planned, node.take(), step, key)
        return (await self._handled(node.planned, request, lambda: self._handler(node))).outputs

    def note(
        self,
        node: LiveNode,
        step: int,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any],
        notes: list[dict[str, Any]] | None = None,
    ) -> Mapping[str, Any]:
        """Record a firing that is the executor's own doing, and takes no time."""
        node.firings += 1
        firing = Firing(node.planned, self._episode.execution_id, step, time.time(), inputs, outputs)
        firing.inner_log = notes or []
        self._log.firing(firing)
        return outputs

    async def through_hooks(
        self, node: LiveNode, step: int, values: dict[str, Any]
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """What hooks leave of the values that pass a node of the executor's own, and their notes."""
        if not self._hooks:
            return values, []
        firing = Firing(node.planned, self._episode.execution_id, step, 0.0, values, {})
        if await self._before(firing):
            firing.outputs = firing.inputs
        await self._after(firing)
        return dict(firing.outputs), firing.inner_log

    def error(self, planned: PlannedNode, step: int, message: str) -> str:
        """Enter an error of a node that does not end the episode."""
        kept = message if len(message) <= LONGEST_MESSAGE else message[:LONGEST_MESSAGE] + "…"
        self._outcome.node_errors.append(NodeError(planned.node.shown, step, kept))
        return kept

    def _handler(self, node: LiveNode) -> NodeHandler:
        if node.handler is None:
            node.handler = self._handlers(node.planned.node)
        return node.handler

    def _request(self, planned: PlannedNode, inputs: dict[str, Any], step: int, key: int) -> FiringRequest:
        return FiringRequest(
            node_id=planned.node.id,
            node_type=planned.node.type,
            config=planned.node.config,
            inputs=inputs,
            step=step,
            execution_id=self._episode.execution_id,
            key=key,
            episode=self._facts,
            containers=self._containers,
            granted=planned.grants,
        )

    async def _handled(
        self,
        planned: PlannedNode,
        request: FiringRequest,
        handler: Callable[[], NodeHandler],
        dynamic_index: int | None = None,
    ) -> Firing:
        firing = Firing(
            planned,
            self._episode.execution_id,
            request.step,
            time.time(),
            dict(request.inputs),
            {},
            parent_node_id=request.parent_node_id,
            dynamic_index=dynamic_index,
        )
        try:
            if not self._hooks:
                await self._attempt(firing, request, handler)
                return firing
            if await self._before(firing):
                request.inputs = dict(firing.inputs)
                await self._attempt(firing, request, handler)
            await self._after(firing)
        except asyncio.CancelledError:
            firing.error = "cancelled before it answered"
            raise
        finally:
            self._log.firing(firing)
        return firing

    async def _attempt(
        self, firing: Firing, request: FiringRequest, handler: Callable[[], NodeHandler]
    ) -> None:
        """Have the node fired; whatever it raises is in ``firing`` and the outcome."""
        planned, step = firing.planned, firing.step
        started = time.perf_counter()
        try:
            result = await handler().fire(request)
            if result.spawned is not None:
                result = await self._with_children(firing, request.key, result, result.spawned)
            _take_over(firing, result)
            if (reported := _reported_error(planned, result.outputs)) is not None:
                firing.error = self.error(planned, step, reported)
        except _ChildEnded as ended:
            firing.error = ended.told
        except StopExecution as stop:
            if self._outcome.node_stop is None:
                self._outcome.node_stop = stop.reason
        except HostFailure as failure:
            firing.error = self._ended_by(planned, step, failure)
        except WrongChoice as wrong:
            firing.error = self._ended_by(planned, step, WrongChoice(f"{planned.node.id}: {wrong}"))
        except NodeRaised as raised:
            firing.error = self.error(planned, step, raised.summary)
            firing.inner_log += [*raised.inner_log, {"key": "traceback", "value": raised.trace}]
        except Exception as error:
            firing.error = self.error(planned, step, f"{type(error).__name__}: {error}")
        finally:
            firing.duration_ms += (time.perf_counter() - started) * 1000

    def _ended_by(self, planned: PlannedNode, step: int, failure: HostFailure | WrongChoice) -> str:
        if self._outcome.failure is not None:  # the verdict's nodes may meet the same dead host
            return self.error(planned, step, str(failure))
        self._outcome.failure = failure
        return str(failure)

    async def _with_children(
        self, firing: Firing, key: int, own: FiringResult, spawned: Spawned
    ) -> FiringResult:
        """Fire the children in turn, and make the node's result of theirs. Their time is not the node's."""
        if firing.parent_node_id is not None:
            raise ValueError("a dynamic child may not return a FireList")
        started = time.perf_counter()
        results = []
        for index, spec in enumerate(spawned.children.specs):
            outputs = await self._child(firing, derive("child", key, index), index, spec)
            kept = outputs if spec.capture_outputs is None else spec.capture_outputs
            results.append({name: value for name, value in outputs.items() if name in kept})
        firing.duration_ms -= (time.perf_counter() - started) * 1000
        recipe = spawned.children.aggregator
        if recipe:
            made = FiringResult(apply_recipe(recipe, results))
        else:
            made = await spawned.aggregate(results)
        return FiringResult(
            {**spawned.children.spawner_outputs, **made.outputs},
            [*own.inner_log, *made.inner_log],
            [*own.events, *made.events],
            own.queue_wait_ms + made.queue_wait_ms,
            own.compute_ms + made.compute_ms,
            own.transport_ms + made.transport_ms,
            own.transfer_bytes + made.transfer_bytes,
        )

    async def _child(self, spawner: Firing, key: int, index: int, spec: FireSpec) -> Mapping[str, Any]:
        parent, suffix = spawner.planned.node, f"::dyn{index}"
        if spec.node_type in NO_CHILDREN:
            raise ValueError(f"a dynamic child may not be of type {spec.node_type}")
        node = Node(
            parent.id + suffix,
            spec.node_type,
            spec.label or f"{spec.node_type}#{index}",
            spec.config,
            path=(*parent.path[:-1], parent.path[-1] + suffix) if parent.path else (),
        )
        ports = self._resolve(node)
        if ports is None:
            raise ValueError(f"its child {index} is of type {spec.node_type!r}, which nothing here fires")
        planned = PlannedNode(node, ports, grants=spawner.planned.grants)
        request = self._request(planned, dict(spec.inputs), spawner.step, key)
        request.parent_node_id = parent.id
        firing = await self._handled(planned, request, lambda: self._handlers(node), index)
        if firing.error is not None or self._outcome.node_stop is not None:
            raise _ChildEnded(f"its child {node.shown} failed: {firing.error}" if firing.error else None)
        return firing.outputs

    async def _before(self, firing: Firing) -> bool:
        """Ask the hooks what goes in. False where one blocks the node."""
        verdict = await self._ask("PreNodeExecute", firing, inputs=firing.inputs)
        firing.inputs = {**firing.inputs, **verdict.changes}
        return not verdict.blocked

    async def _after(self, firing: Firing) -> None:
        """Ask the hooks what comes out, and tell them what went wrong."""
        verdict = await self._ask("PostNodeExecute", firing, outputs=firing.outputs, error=firing.error)
        if firing.error is None:
            firing.outputs = {**firing.outputs, **verdict.changes}

    async def _ask(self, event: str, firing: Firing, **facts: Any) -> Verdict:
        node = firing.planned.node
        place = {"execution_id": firing.execution_id, "step": firing.step, "node_id": node.id}
        verdict = await self._hooks.ask(event, {**place, **facts}, node.type, node.id)
        firing.inner_log += [{"key": "hook", "value": note} for note in verdict.notes]
        return verdict


class _ChildEnded(Exception):
    """A dynamic child failed, or ended the run; ``told``: what to say of the node that had it fired."""

    def __init__(self, told: str | None) -> None:
        super().__init__(told)
        self.told = told


def _take_over(firing: Firing, result: FiringResult) -> None:
    firing.outputs = result.outputs
    firing.inner_log += result.inner_log
    firing.events = result.events
    firing.queue_wait_ms = result.queue_wait_ms
    firing.compute_ms = result.compute_ms
    firing.transport_ms = result.transport_ms
    firing.transfer_bytes = result.transfer_bytes


def _reported_error(planned: PlannedNode, outputs: Mapping[str, Any]) -> str | None:
    """The message of ``{"error": ...}``, unless the node declares an output of that name."""
    error = outputs.get("error")
    if error is None or error is False or any(port.name == "error" for port in planned.ports.outputs):
        return None
    return str(error)
