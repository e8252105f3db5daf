"""Contract graph-json.md, "Containers": the memory of an episode while its graph runs."""

from __future__ import annotations

from typing import Any

import pytest

from engine.components.containers import ContainerStore
from engine.graph.model import Container, State
from tests.execution.sketch import Ran, emits, executor, loop, out, run, sketch, step

LIFETIMES = ("forever", "step", "episode", "run", "custom")
MEMORY = Container(
    "memory", states={name: State("counter", lifetime=name, reset_on=("crash",)) for name in LIFETIMES}
)


async def remembered(emit: str = "", at: int = 2) -> tuple[Ran, list[dict[str, list[int]]], ContainerStore]:
    """Three steps of a node that counts in every state and partition, and emits a signal in step ``at``.

    What it read after each write: unkeyed, and in the partition ``k``.
    """
    seen: list[dict[str, list[int]]] = []

    def count(inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        memory = ctx.containers["memory"]
        for name in LIFETIMES:
            memory.write(name, 1)
            memory.write(name, 1, key="k")
        seen.append({name: [memory.read(name), memory.read(name, key="k")] for name in LIFETIMES})
        if emit and len(seen) == at:
            ctx.emit(emit)
        return {"n": len(seen)}

    nodes = {"s": emits(go=1), **loop(init="go+", carry="n"), "c": step("x", "n", count), "o": out("score")}
    edges = [
        "s.go -> loop_in.init_go",
        "loop_in.init_go -> c.x",
        "c.n -> loop_out.n",
        "loop_out.final_n -> o.value",
    ]
    plan = sketch(nodes, edges, containers=(MEMORY,), grants=(("c", "memory"),))
    made, log = executor(plan, nodes, budget=3)
    return Ran(plan, await made.run(), log), seen, made._containers


@pytest.mark.parametrize(
    ("emit", "begin_anew"), [("", ()), ("episode_reset", ("episode",)), ("crash", ("custom",)), ("other", ())]
)
async def test_how_long_each_state_lasts(emit: str, begin_anew: tuple[str, ...]):
    _, seen, _ = await remembered(emit)
    counts = {name: [values[name] for values in seen] for name in LIFETIMES}
    whole = [[1, 1], [2, 2], [3, 3]]
    expected = {name: [[1, 1], [2, 2], [1, 1]] if name in begin_anew else whole for name in LIFETIMES}
    assert counts == {**expected, "step": [[1, 1]] * 3}


async def test_the_end_of_the_run_clears_what_lasts_for_it():
    _, _, store = await remembered()
    left = {name: store.access("memory").read(name) for name in LIFETIMES}
    assert left == {"forever": 3, "episode": 3, "custom": 3, "run": 0, "step": 0}
    assert store.signals == ["run_start", *["step_start", "step_end"] * 3, "run_end"]


async def test_checkpoints_hold_partitions():
    ran, _, _ = await remembered()
    assert [(step, memory["memory"]["values"]["forever"]) for step, memory in ran.log.checkpoints] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert ran.log.checkpoints[1][1]["memory"]["keyed"] == {
        name: {"k": 2} for name in ("forever", "episode", "run", "custom")
    }


async def test_a_node_evicts_a_partition():
    def do(inputs: dict[str, Any], ctx: Any) -> list[int]:
        memory = ctx.containers["memory"]
        memory.write("forever", 5, key="k")
        memory.write("forever", 7)
        memory.evict("k")
        return [memory.read("forever", key="k"), memory.read("forever")]

    ran = await run(
        {"a": step("", "v", do), "o": out("v")},
        ["a.v -> o.value"],
        containers=(MEMORY,),
        grants=(("a", "memory"),),
    )
    assert ran.outcome.outputs == {"v": [0, 7]}


@pytest.mark.parametrize(
    ("do", "says"),
    [
        (
            lambda memory: memory["memory"].read("frever"),
            "declares no state 'frever'; it has 'forever', 'step'",
        ),
        (lambda memory: memory["memory"].write("x", 1), "declares no state 'x'"),
        (lambda memory: memory["other"].read("x"), "'other' is not granted to this node; granted: 'memory'"),
    ],
)
async def test_what_is_not_declared_or_not_granted_is_an_error_that_says_what_is(do: Any, says: str):
    ran = await run(
        {"a": step("", "v", lambda inputs, ctx: do(ctx.containers))},
        containers=(MEMORY, Container("other")),
        grants=(("a", "memory"),),
    )
    assert says in ran.outcome.node_errors[0].message


async def test_a_grant_of_what_the_graph_does_not_hold_is_none():
    """A nodeset's own container: its host has it at hand for the nodeset's nodes."""
    ran = await run(
        {"a": step("", "v", lambda inputs, ctx: sorted(ctx.containers)), "o": out("v")},
        ["a.v -> o.value"],
        containers=(MEMORY,),
        grants=(("a", "memory"), ("a", "theirs")),
    )
    assert ran.outcome.outputs == {"v": ["memory"]}


async def test_each_episode_begins_with_nothing():
    for _ in range(2):
        _, seen, _ = await remembered()
        assert seen[0] == {name: [1, 1] for name in LIFETIMES}
