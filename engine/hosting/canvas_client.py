"""Calls to a model server of AgentCanvas's: its routes are ours, its bodies are not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.components.errors import HostBadReply
from engine.hosting import codec
from engine.hosting.client import CallReply, HostClient, RemoteError

_JSON = {"Content-Type": "application/json"}


class CanvasClient(HostClient):
    """As a :class:`HostClient`, raising the same, with AgentCanvas's arrays in ``/call`` and JSON elsewhere.

    Such a server knows nothing of episodes: its nodes get no seed and log nothing, and the graph's containers
    are out of their reach.
    """

    _idle_sec = 2.0  # its server, uvicorn, closes what was idle for 5 s

    async def call(
        self,
        fn: str,
        inputs: Mapping[str, Any],
        config: Mapping[str, Any],
        execution: Mapping[str, Any],
        timeout: float,
    ) -> CallReply:
        if told := _out_of_reach(execution):
            return CallReply(error=RemoteError(type="OutOfReach", message=told))
        body = codec.encode_for_agentcanvas({"inputs": inputs, "config": config})
        status, data = await self._exchange("POST", f"/call/{fn}", body, timeout)
        if status == 500:
            return CallReply(error=_told(data), transfer_bytes=len(body) + len(data))
        return self._reply(data, fn, len(body))

    async def evict(self, execution_id: str, episode_id: str = "", timeout: float = 30.0) -> None:
        for key in filter(None, (execution_id, episode_id)):
            await self._ask("POST", "/containers/evict", {"key": key}, timeout)

    async def metadata(self, timeout: float = 0.0) -> Any:
        """Nothing: AgentCanvas asks for it in its own process."""
        return {}

    async def set_live(self, live: bool, timeout: float = 0.0) -> None:
        """Nothing: its batches leave 50 ms after the last row, whoever else may send."""

    async def _ask(self, method: str, path: str, body: Any, timeout: float) -> Any:
        data = None if body is None else codec.encode_json(body)
        status, answer = await self._exchange(method, path, data, timeout, _JSON)
        if status == 500:
            raise _told(answer).exception()
        try:
            return json.loads(answer)
        except ValueError as error:
            raise self._failed(HostBadReply, f"the answer cannot be understood: {error}", path) from error


def _out_of_reach(execution: Mapping[str, Any]) -> str:
    """What is asked for that such a server does not do; empty where it does."""
    if containers := list(execution.get("containers") or ()):
        return f"granted the containers {containers}, which a server of AgentCanvas's cannot reach"
    if "results" in execution:
        return "its FireList has no aggregator, and a server of AgentCanvas's cannot be asked to aggregate"
    return ""


def _told(data: bytes) -> RemoteError:
    """What it says of a node that raised: only a text."""
    try:
        message = str(json.loads(data)["detail"])
    except (ValueError, KeyError, TypeError):
        message = data[:200].decode("utf-8", "replace")
    return RemoteError(type="Error", message=message)
