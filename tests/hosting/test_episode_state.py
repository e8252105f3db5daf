"""What a host does for an episode beside firing: dynamic children, and the nodeset's own containers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from engine.components.containers import ContainerStore
from engine.components.errors import NodeRaised
from engine.components.firing import FiringRequest, FiringResult
from engine.hosting.remote import RemoteHandler
from tests.hosting.helpers import Host

Start = Callable[..., Awaitable[Host]]

NODESET = """
import numpy as np

from engine.components import (
    BaseCanvasNode, BaseNodeSet, ContainerDef, DynamicFireListNode, FireList, FireSpec, StateDef
)

LIFETIMES = ("forever", "step", "episode", "run", "custom")


class Spawn(DynamicFireListNode):
    node_type = "own__spawn"

    async def forward(self, inputs, ctx):
        self._self_log("spawned", inputs["n"])
        specs = [
            FireSpec("own__count", {"x": np.float32(i)}, {"at": i}, f"child {i}") for i in range(inputs["n"])
        ]
        return FireList(specs, {"seen": True}, self.config.get("aggregator", {}))

    def aggregate(self, child_results):
        if self.config.get("fail"):
            raise ValueError("no sense in it")
        return {"results": child_results, "by": self.node_id}


class Count(BaseCanvasNode):
    node_type = "own__count"
    fired = 0

    async def forward(self, inputs, ctx):
        self.fired += 1
        ctx.seen = (ctx.seen or 0) + 1
        return {"fired": self.fired, "seen": ctx.seen, "at": self.config.get("at"), "x": inputs.get("x")}


class Remember(BaseCanvasNode):
    node_type = "own__remember"

    async def forward(self, inputs, ctx):
        memory = ctx.containers["memory"]
        for state in LIFETIMES:
            memory.write(state, 1)
            memory.write(state, 1, key=inputs.get("key", "k"))
        if "emit" in inputs:
            ctx.emit(inputs["emit"])
        return {state: [memory.read(state), memory.read(state, key="k")] for state in LIFETIMES}


class Own(BaseNodeSet):
    name = "own"
    parallelism = "shared"

    def get_tools(self):
        return [Spawn(), Count(), Remember()]

    def get_containers(self):
        states = {name: StateDef("counter", lifetime=name, reset_on=["crash"]) for name in LIFETIMES}
        return [ContainerDef("memory", states=states)]
"""


@pytest.fixture
async def host(start: Start, tmp_path: Path) -> Host:
    path = tmp_path / "own.py"
    path.write_text(NODESET)
    return await start(name="own", path=path)


class Episode:
    """Fires nodes in a host, as a run does."""

    def __init__(self, host: Host, execution_id: str = "e1") -> None:
        self.containers = ContainerStore([])
        self._handler = RemoteHandler(host.client, lambda _: 20)
        self._execution_id = execution_id

    async def fire(
        self,
        tool: str,
        inputs: dict[str, Any],
        config: dict[str, Any] | None = None,
        parent: str | None = None,
    ) -> FiringResult:
        return await self._handler.fire(
            FiringRequest(
                node_id="n1",
                node_type=f"own__{tool}",
                config=config or {},
                inputs=inputs,
                step=0,
                execution_id=self._execution_id,
                key=1,
                episode={},
                containers=self.containers,
                granted=(),
                parent_node_id=parent,
            )
        )

    async def remember(self, **inputs: Any) -> dict[str, Any]:
        return (await self.fire("remember", inputs)).outputs


async def test_children_are_asked_for_and_their_results_made_into_outputs(host: Host) -> None:
    episode = Episode(host)
    result = await episode.fire("spawn", {"n": 2})
    assert result.spawned is not None
    children = result.spawned.children
    assert [(spec.node_type, spec.inputs, spec.config, spec.label) for spec in children.specs] == [
        ("own__count", {"x": 0.0}, {"at": 0}, "child 0"),
        ("own__count", {"x": 1.0}, {"at": 1}, "child 1"),
    ]
    assert (children.spawner_outputs, children.aggregator) == ({"seen": True}, {})
    assert result.inner_log == [{"key": "spawned", "value": 2}]
    made = await result.spawned.aggregate([{"a": 1}, {"b": 2}])
    assert made.outputs == {"results": [{"a": 1}, {"b": 2}], "by": "n1"}
    assert made.transfer_bytes > 0


async def test_a_recipe_goes_along(host: Host) -> None:
    result = await Episode(host).fire("spawn", {"n": 0}, {"aggregator": {"kind": "merge_all"}})
    assert result.spawned is not None
    assert result.spawned.children.aggregator == {"kind": "merge_all"}


async def test_an_aggregate_that_raises(host: Host) -> None:
    result = await Episode(host).fire("spawn", {"n": 1}, {"fail": True})
    assert result.spawned is not None
    with pytest.raises(NodeRaised, match="ValueError: no sense in it") as raised:
        await result.spawned.aggregate([{}])
    assert "aggregate" in raised.value.trace


async def test_a_child_is_a_fresh_node_each_time(host: Host) -> None:
    episode = Episode(host)
    for at in range(2):
        result = await episode.fire("count", {"x": 1}, {"at": at}, parent="spawner")
        assert result.outputs == {"fired": 1, "seen": 1, "at": at, "x": 1}
    firings = [(await episode.fire("count", {})).outputs["fired"] for _ in range(2)]
    assert firings == [1, 2]


LIFETIMES = ("forever", "step", "episode", "run", "custom")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signal", "cleared"),
    [
        ("step_end", {"step"}),
        ("episode_reset", {"episode"}),
        ("run_end", {"run"}),
        ("crash", {"custom"}),
        ("step_start", set()),
        ("other", set()),
    ],
)
@pytest.mark.parametrize("by_the_node", [True, False], ids=["its node", "the run"])
async def test_each_lifetime_ends_with_its_signal(
    host: Host, signal: str, cleared: set[str], by_the_node: bool
) -> None:
    episode = Episode(host)
    assert await episode.remember(**({"emit": signal} if by_the_node else {})) == {
        state: [1, 1] for state in LIFETIMES
    }
    if not by_the_node:
        episode.containers.signal(signal)
    kept = {state: [1, 1] if state in cleared else [2, 2] for state in LIFETIMES}
    assert await episode.remember() == kept


async def test_a_signal_is_told_once(host: Host) -> None:
    episode = Episode(host)
    episode.containers.signal("step_end")
    assert [(await episode.remember())["step"][0] for _ in range(3)] == [1, 2, 3]


async def test_episodes_share_nothing_and_leave_nothing(host: Host) -> None:
    one, two = Episode(host, "e1"), Episode(host, "e2")
    assert (await one.remember())["forever"] == [1, 1]
    assert (await two.remember())["forever"] == [1, 1]
    assert (await one.remember())["forever"] == [2, 2]
    await host.client.evict("e1")
    assert (await one.remember())["forever"] == [1, 1]
    assert (await two.remember())["forever"] == [2, 2]


async def test_a_partition_is_evicted_by_its_own_key(host: Host) -> None:
    episode = Episode(host)
    await episode.remember()
    await host.client.evict("k")
    assert (await episode.remember())["forever"] == [2, 1]
