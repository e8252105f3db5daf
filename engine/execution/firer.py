"""Fires one node at a time, and turns whatever comes of it into outputs and a record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from engine.components.builtin_ports import SINKS
from engine.components.containers import ContainerStore
from engine.components.errors import HostFailure, NodeRaised, StopExecution
from engine.components.firing import FiringRequest, FiringResult, NodeHandler
from engine.components.seeds import firing_key
from engine.execution.live import LiveNode
from engine.execution.outcome import EpisodeContext, NodeError, Outcome
from engine.execution.record import Firing, FiringSink
from engine.graph.model import Node

LONGEST_MESSAGE = 2000
"""Characters of an error's message that are kept."""


class Firer:
    """Fires the nodes of one episode; what goes wrong is entered in its ``outcome``."""

    def __init__(
        self,
        handlers: Callable[[Node], NodeHandler],
        episode: EpisodeContext,
        containers: ContainerStore,
        log: FiringSink,
        outcome: Outcome,
    ) -> None:
        self._handlers = handlers
        self._episode = episode
        self._facts = episode.facts()
        self._containers = containers
        self._log = log
        self._outcome = outcome

    async def fire(self, node: LiveNode, step: int) -> Mapping[str, Any]:
        """The outputs; empty where it failed. Raises only what the log's disk raises."""
        if node.type == "graphOut":
            inputs = node.take()
            return self.note(node, step, inputs, inputs)
        if node.type in SINKS or node.type == "graphIn":
            return self.note(node, step, node.take(), {})
        return await self._handled(node, step)

    def note(
        self, node: LiveNode, step: int, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Record a firing that is the executor's own doing, and takes no time."""
        node.firings += 1
        self._log.firing(Firing(node.planned, self._episode.execution_id, step, time.time(), inputs, outputs))
        return outputs

    def error(self, node: LiveNode, step: int, message: str) -> str:
        """Enter an error of a node that does not end the episode."""
        kept = message if len(message) <= LONGEST_MESSAGE else message[:LONGEST_MESSAGE] + "…"
        self._outcome.node_errors.append(NodeError(node.planned.node.shown, step, kept))
        return kept

    async def _handled(self, node: LiveNode, step: int) -> Mapping[str, Any]:
        planned, inputs = node.planned, node.take()
        firing = Firing(planned, self._episode.execution_id, step, time.time(), inputs, {})
        request = FiringRequest(
            node_id=node.id,
            node_type=node.type,
            config=planned.node.config,
            inputs=dict(inputs),
            step=step,
            execution_id=self._episode.execution_id,
            key=firing_key(self._episode.seed, node.id, node.firings),
            episode=self._facts,
            containers=self._containers,
            granted=planned.grants,
        )
        node.firings += 1
        started = time.perf_counter()
        try:
            if node.handler is None:
                node.handler = self._handlers(planned.node)
            result = await node.handler.fire(request)
            _take_over(firing, result)
            if (reported := _reported_error(node, result.outputs)) is not None:
                firing.error = self.error(node, step, reported)
        except StopExecution as stop:
            if self._outcome.node_stop is None:
                self._outcome.node_stop = stop.reason
        except HostFailure as failure:
            firing.error = self._host_failed(node, step, failure)
        except NodeRaised as raised:
            firing.error = self.error(node, step, raised.summary)
            firing.inner_log = [*raised.inner_log, {"key": "traceback", "value": raised.trace}]
        except Exception as error:
            firing.error = self.error(node, step, f"{type(error).__name__}: {error}")
        except asyncio.CancelledError:
            firing.error = "cancelled before it answered"
            raise
        finally:
            firing.duration_ms = (time.perf_counter() - started) * 1000
            self._log.firing(firing)
        return firing.outputs

    def _host_failed(self, node: LiveNode, step: int, failure: HostFailure) -> str:
        if self._outcome.failure is not None:  # the verdict's nodes may meet the same dead host
            return self.error(node, step, str(failure))
        self._outcome.failure = failure
        return str(failure)


def _take_over(firing: Firing, result: FiringResult) -> None:
    firing.outputs = result.outputs
    firing.inner_log = result.inner_log
    firing.events = result.events
    firing.queue_wait_ms = result.queue_wait_ms
    firing.compute_ms = result.compute_ms
    firing.transport_ms = result.transport_ms
    firing.transfer_bytes = result.transfer_bytes


def _reported_error(node: LiveNode, outputs: Mapping[str, Any]) -> str | None:
    """The message of ``{"error": ...}``, unless the node declares an output of that name."""
    error = outputs.get("error")
    if error is None or error is False or any(port.name == "error" for port in node.planned.ports.outputs):
        return None
    return str(error)
