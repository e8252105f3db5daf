"""What the tests of hosting share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from engine.hosting.client import CallReply
from engine.hosting.process import HostProcess

ZOO = Path(__file__).with_name("zoo.py")


class Host:
    """A zoo's host with its client."""

    def __init__(self, process: HostProcess) -> None:
        self.process = process
        self.client = process.connect("run/0")

    async def do(self, what: str, timeout: float = 30.0, **inputs: Any) -> CallReply:
        return await self.fire({"what": what, **inputs}, timeout=timeout)

    async def fire(
        self,
        inputs: dict[str, Any],
        config: dict[str, Any] | None = None,
        timeout: float = 30.0,
        **execution: Any,
    ) -> CallReply:
        execution = {"execution_id": "e1", "node_id": "n1", "step": 3, "key": 7, **execution}
        return await self.client.call("zoo__do", inputs, config or {}, execution, timeout)


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def eventually(condition: Callable[[], Any], within: float = 20.0) -> Any:
    """What ``condition`` gives once it is true; fails when it is not within so many seconds."""
    deadline = time.monotonic() + within
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {within} s: {condition}"
        await asyncio.sleep(0.01)
    return found


def pids_in(file: Path) -> list[int]:
    """The pids that the zoo wrote; empty until it has."""
    return [int(word) for word in file.read_text().split()] if file.exists() else []
