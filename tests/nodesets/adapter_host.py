"""A built-in nodeset in a process of its own, asked the way a run asks."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import engine
from engine.hosting.client import HostClient
from engine.hosting.process import HostProcess, HostSpec, make_socket_dir

NODESETS = Path(engine.__file__).parents[1] / "nodesets"
SIMULATORS = Path(__file__).parents[1] / "fakes" / "simulators"
DEADLINE_SEC = 120.0


class Adapter:
    def __init__(self, name: str, client: HostClient, process: HostProcess) -> None:
        self._name = name
        self.client = client
        self.process = process
        self._firings = 0

    async def choose(self, index: Any = 0, seed: int = 1, **selectors: Any) -> dict[str, Any]:
        """Select, and press play; what the panel answers."""
        for name, value in {**selectors, "seed": seed, "episode_index": index}.items():
            await self.client.panel_field(name, value, DEADLINE_SEC)
        answer: dict[str, Any] = await self.client.panel_action("play", {}, DEADLINE_SEC)
        return answer

    async def fire(self, tool: str, config: dict[str, Any] | None = None, **inputs: Any) -> dict[str, Any]:
        """A node's outputs; RuntimeError with what it raised instead."""
        self._firings += 1
        node = f"{tool}{self._firings}" if config else tool  # a node keeps the config it began with
        execution = {"execution_id": "e", "node_id": node, "step": self._firings, "key": self._firings}
        fn = f"{self._name}__{tool}"
        reply = await self.client.call(fn, inputs, config or {}, execution, DEADLINE_SEC)
        if reply.error is not None:
            raise RuntimeError(reply.error.message)
        return dict(reply.outputs)

    async def until_done(
        self, agent: str, step: str, limit: int, stop: str = "terminated"
    ) -> dict[str, float]:
        """An episode by an agent tool; its metrics."""
        for _ in range(limit):
            action = (await self.fire(agent, trigger=None))["action"]
            if (await self.fire(step, action=action))["terminated"]:
                break
        metrics: dict[str, float] = (await self.fire("evaluate", trigger=None))["metrics"]
        return metrics


@asynccontextmanager
async def hosted(name: str, folder: Path, python: str = sys.executable, **env: str) -> AsyncIterator[Adapter]:
    """The nodeset's process, under this interpreter and with these variables; it is gone at the end."""
    sockets = make_socket_dir()
    spec = HostSpec(
        name=name,
        path=NODESETS / name,
        log_path=folder / f"{name}.log",
        socket_dir=sockets,
        env=env,
        python=python,
    )
    try:
        process = await HostProcess.start(spec, DEADLINE_SEC)
        client = HostClient(process.url, "run/0", name)
        try:
            yield Adapter(name, client, process)
        finally:
            await client.close()
            await process.kill()
    finally:
        shutil.rmtree(sockets, ignore_errors=True)
