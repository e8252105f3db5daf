"""Fires a nodeset's nodes in their host: the executor's handler for everything that is not built in."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from engine.components.firing import FiringRequest, FiringResult, Spawned
from engine.hosting.client import HostClient


class RemoteHandler:
    """Implements NodeHandler over ``client``; ``deadline`` gives the seconds that a firing may take.

    A client that failed once raises at once: the process behind it is not trusted any more.
    """

    def __init__(self, client: HostClient, deadline: Callable[[FiringRequest], float]) -> None:
        self._client = client
        self._deadline = deadline

    async def fire(self, request: FiringRequest) -> FiringResult:
        """Raises HostFailure, NodeRaised, StopExecution; TypeError where an input cannot be sent.

        Container writes and signals are applied in order, also those that the node made before it raised.
        """
        return await self._call(request, _execution(request))

    async def _aggregate(self, request: FiringRequest, results: list[dict[str, Any]]) -> FiringResult:
        return await self._call(request, {**_execution(request), "results": results})

    async def _call(self, request: FiringRequest, execution: dict[str, Any]) -> FiringResult:
        signals = request.containers.signals
        execution["signals"] = list(dict.fromkeys(signals[self._client.signals_told :]))
        self._client.signals_told = len(signals)
        began = time.perf_counter()
        reply = await self._client.call(
            request.node_type, request.inputs, request.config, execution, self._deadline(request)
        )
        elapsed_ms = (time.perf_counter() - began) * 1e3
        request.containers.apply(reply.writes)
        for signal in reply.signals:
            request.containers.signal(signal["signal"])
        if reply.error is not None:
            raise reply.error.exception(reply.inner_log, self._client.name, request.node_type)
        result = FiringResult(
            outputs=reply.outputs or {},
            inner_log=reply.inner_log,
            events=reply.events,
            queue_wait_ms=reply.timing.queue_wait_ms,
            compute_ms=reply.timing.compute_ms,
            transport_ms=max(elapsed_ms - reply.timing.queue_wait_ms - reply.timing.compute_ms, 0.0),
            transfer_bytes=reply.transfer_bytes,
        )
        if reply.children is not None:
            result.spawned = Spawned(reply.children.as_list(), partial(self._aggregate, request))
        return result


def _execution(request: FiringRequest) -> dict[str, Any]:
    return {
        "execution_id": request.execution_id,
        "node_id": request.node_id,
        "node_type": request.node_type,
        "parent_node_id": request.parent_node_id,
        "step": request.step,
        "key": request.key,
        "episode": request.episode,
        "containers": request.containers.export(request.granted),
    }
