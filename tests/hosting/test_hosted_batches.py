"""Batched tools, as the callers of a host see them. When a batch leaves, and its regimes: test_batching."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from engine.hosting.client import CallReply, HostClient
from engine.hosting.process import HostProcess, HostSpec

MODEL = """
import time
from engine.components import BaseCanvasNode, BaseNodeSet

class Act(BaseCanvasNode):
    node_type = "model__act"
    batched = True
    default_config = {"scale": 1}

    def sample_rows(self, n, rng):
        return [{"x": rng.normal(size=4), "_key": int(k)} for k in rng.integers(0, 1 << 62, n)]

    async def forward(self, inputs, ctx):
        rows = inputs["_samples"]
        if any(row.get("bad") for row in rows):
            raise ValueError("a bad row")
        if any(row.get("slow") for row in rows):
            time.sleep(0.2)
        print("forward of", len(rows))
        return {"_outputs": [{"y": row["x"] * self.config["scale"], "key": row["_key"]} for row in rows]}

class Loads(Act):
    node_type = "model__loads"
    default_config = {"weights": None}

    async def initialize(self):
        open(self.config["weights"]).close()

class Model(BaseNodeSet):
    name = "model"
    max_batch = 4
    def get_tools(self):
        return [Act(), Loads()]
"""


class Server:
    """A model server and three callers of it."""

    def __init__(self, process: HostProcess) -> None:
        self.process = process
        self.clients = [HostClient(process.url, f"run/{number}", "model") for number in range(3)]

    async def act(
        self, caller: int, fn: str = "model__act", config: dict[str, object] | None = None, **inputs: object
    ) -> CallReply:
        execution = {"key": 5, "node_id": "policy"}
        return await self.clients[caller].call(fn, inputs, config or {}, execution, 30)


@pytest.fixture
async def server(spec: Callable[..., HostSpec], tmp_path: Path) -> AsyncIterator[Server]:
    """All three callers are live."""
    file = tmp_path / "model.py"
    file.write_text(MODEL)
    server = Server(await HostProcess.start(spec(name="model", path=file), 60))
    for client in server.clients:
        await client.set_live(True)
    yield server
    for client in server.clients:
        await client.close()
    await server.process.stop(20)
    assert server.process.exit_cause() == "exit code 0"


async def test_live_callers_share_a_forward_and_each_gets_its_row(server: Server) -> None:
    replies = await asyncio.gather(*(server.act(n, x=float(n), slow=True) for n in range(3)))
    assert [reply.outputs for reply in replies] == [{"y": float(n), "key": 5} for n in range(3)]
    assert all(reply.timing.compute_ms > 0 for reply in replies)
    assert server.process.tail(1)[0] in ("forward of 2", "forward of 3")


async def test_another_config_is_another_batch(server: Server) -> None:
    tripled = server.act(2, x=1.0, config={"scale": 3})
    replies = await asyncio.gather(server.act(0, x=1.0), server.act(1, x=1.0), tripled)
    assert [reply.outputs["y"] for reply in replies if reply.outputs] == [1.0, 1.0, 3.0]
    regimes = (await server.clients[0].manifest())["batching"]
    assert sorted(regimes) == ["model__act", 'model__act {"scale": 3}']
    assert regimes["model__act"]["regime"] == "free"


async def test_a_row_that_raises_is_its_caller_s_error_alone(server: Server) -> None:
    good, bad, other = await asyncio.gather(
        server.act(0, x=1.0), server.act(1, x=1.0, bad=True), server.act(2, x=2.0)
    )
    assert good.error is None
    assert other.error is None
    assert bad.error is not None
    assert (bad.error.kind, bad.error.message) == ("raised", "a bad row")


async def test_a_tool_that_needs_a_config_is_checked_when_it_gets_one(server: Server, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.touch()
    assert "model__loads" not in (await server.clients[0].manifest())["batching"]
    missing = await server.act(0, "model__loads", x=1.0)
    assert missing.error is not None
    assert missing.error.type == "TypeError"
    for caller in range(2):
        reply = await server.act(caller, "model__loads", {"weights": str(weights), "scale": 2}, x=1.0)
        assert reply.outputs is not None
        assert reply.outputs["y"] == 2.0
