"""Contract graph-json.md, "Composites": what they do when they run."""

from __future__ import annotations

from typing import Any

import pytest

from engine.components.errors import HostCrashed, StopExecution
from engine.graph.model import Container, State
from tests.execution.sketch import Box, Spec, emits, into, loop, out, run, step


def counting(*outputs: str, edges: tuple[str, ...] = (), stop_at: int = 3, **nodes: Spec) -> Box:
    """A composite with a loop that counts to ``stop_at``; each of ``outputs`` gets what its name says."""
    count = 0

    def tick(inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        nonlocal count
        count = 1 if inputs["x"] == "go" else count + 1
        return {"count": count, "done": count >= stop_at}

    sources = {
        "count": "tick.count",
        "final": "ticks_out.final_count",
        "beside": "aside.v",
        "later": "after.v",
    }
    return Box(
        {
            "go": into("go"),
            "aside": step("x", "v", lambda inputs, ctx: "beside"),
            **loop("ticks", init="go", carry="count", budget=9),
            "tick": step("x", "count done", tick),
            "after": step("x", "v", lambda inputs, ctx: f"after {inputs['x']}"),
            **{name: out(name) for name in outputs},
            **nodes,
        },
        [
            "go.value -> ticks_in.init_go",
            "go.value -> aside.x",
            "ticks_in.init_go -> tick.x",
            "ticks_in.iterout_count -> tick.x",
            "tick.count -> ticks_out.count",
            "tick.done -> ticks_out.stop",
            "ticks_out.final_count -> after.x",
            *(f"{sources[name]} -> {name}.value" for name in outputs if name in sources),
            *edges,
        ],
    )


def in_a_loop(box: Box, *edges: str) -> tuple[dict[str, Spec], list[str]]:
    """``box`` as the body of a loop of two iterations; ``t`` gets what its first output gives."""
    name = next(name for name, spec in box.nodes.items() if getattr(spec, "type", "") == "graphOut")
    turns = 0

    def turn(inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        nonlocal turns
        turns += 1
        return {"y": inputs["x"], "stop": turns == 2}

    nodes: dict[str, Spec] = {
        "s": emits(go="go"),
        **loop(init="go+", carry="y"),
        "box": box,
        "t": step("x", "y stop", turn),
        "o": out("score"),
    }
    return nodes, [
        "s.go -> loop_in.init_go",
        "loop_in.init_go -> box.go",
        f"box.{name} -> t.x",
        "t.y -> loop_out.y",
        "t.stop -> loop_out.stop",
        "loop_out.final_y -> o.value",
        *edges,
    ]


def alone(box: Box, *edges: str) -> tuple[dict[str, Spec], list[str]]:
    """``box`` with its loop as the only one of the graph; ``t`` gets what its first output gives."""
    name = next(name for name, spec in box.nodes.items() if getattr(spec, "type", "") == "graphOut")
    nodes: dict[str, Spec] = {"s": emits(go="go"), "box": box, "t": step("x"), "o": out("score")}
    return nodes, ["s.go -> box.go", f"box.{name} -> t.x", "t.out -> o.value", *edges]


LAST = {"count": 3, "final": 3, "beside": "beside", "later": "after 3"}


@pytest.mark.parametrize("output", LAST)
async def test_its_output_comes_once_when_its_loop_has_ended(output):
    ran = await run(*alone(counting(output)), budget=9)
    assert ran.inputs("t") == [{"x": LAST[output]}]
    assert ran.order.index("t") > max(at for at, node in enumerate(ran.order) if node == "box__tick")
    assert ran.outcome.outputs == {"score": LAST[output]}
    assert (ran.outcome.termination, ran.outcome.steps) == ("stopped", 3)


@pytest.mark.parametrize("output", LAST)
async def test_and_once_in_each_iteration_of_the_loop_around(output):
    ran = await run(*in_a_loop(counting(output)), budget=9)
    assert ran.inputs("t") == [{"x": LAST[output]}] * 2
    assert ran.order.count("box__tick") == 6
    assert ran.outcome.outputs == {"score": LAST[output]}
    assert (ran.outcome.termination, ran.outcome.steps) == ("stopped", 2)


async def test_and_in_a_composite_around_that():
    inner = counting("count")
    box = Box(
        {"go": into("go"), "in": inner, "count": out("count")},
        ["go.value -> in.go", "in.count -> count.value"],
    )
    ran = await run(*in_a_loop(box), budget=9)
    assert ran.inputs("t") == [{"x": 3}] * 2
    assert ran.order.count("box__in__count") == 6


async def test_a_loop_in_a_composite_in_a_loop_in_a_composite():
    """Each holds for its own loop: the inner box passes twice in each passage through the outer one."""
    nodes, edges = in_a_loop(counting("count"))
    del nodes["s"], nodes["o"]
    outer = Box(
        {"go": into("go"), **nodes, "y": out("y")},
        ["go.value -> loop_in.init_go", *edges[1:-1], "t.y -> y.value"],
    )
    ran = await run(*alone(outer), budget=9)
    assert ran.inputs("box__t") == [{"x": 3}] * 2
    assert ran.inputs("t") == [{"x": 3}]


async def test_the_end_of_the_loop_counts_more_than_what_came_on_the_way():
    box = counting("both", edges=("tick.count -> both.value", "ticks_out.final_count -> both.value"))
    ran = await run(*alone(box), budget=9)
    assert ran.inputs("t") == [{"x": 3}]
    assert ran.order.count("box__both") == 4


async def test_an_inner_output_is_no_output_of_the_run():
    box = counting("count", "metrics", edges=("tick.done -> metrics.value",))
    ran = await run(*alone(box), budget=9)
    assert ran.outcome.outputs == {"score": 3}
    assert ran.order.count("box__metrics") == 3


def failing(error: Exception) -> Spec:
    def do(inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        if inputs["x"] == 2:
            raise error
        return {}

    return step("x", "v", do)


@pytest.mark.parametrize(
    ("end", "expected"),
    [("budget", 2), ("dry", 2), (StopExecution("enough"), 2), (HostCrashed("gone"), 2)],
    ids=["budget", "dry", "a node stops it", "a host crashes"],
)
@pytest.mark.parametrize("output", ["count", "final"])
async def test_however_its_loop_ends(end, expected, output):
    box = counting(output, stop_at=99)
    if isinstance(end, Exception):
        box = counting(output, stop_at=99, edges=("tick.count -> check.x",), check=failing(end))
    if end == "dry":
        box = counting(output, stop_at=99)
        box.nodes["tick"].do = lambda inputs, ctx: {"go": {"count": 1}, 1: {"count": 2}}.get(inputs["x"], {})
    ran = await run(*alone(box), budget=2 if end == "budget" else 9)
    assert ran.inputs("t") == [{"x": expected}]
    assert len(ran.finals("box__ticks_out")) == 1


async def test_a_loop_that_never_begins_lets_go_too():
    nodes, edges = alone(counting("beside"))
    nodes["s"] = emits(go="go")
    box = nodes["box"]
    assert isinstance(box, Box)
    box.edges = [edge for edge in box.edges if edge != "go.value -> ticks_in.init_go"]
    box.edges.append("never.v -> ticks_in.init_go")
    box.nodes["never"] = step("x", "v", lambda inputs, ctx: {})
    box.edges.append("go.value -> never.x")
    ran = await run(nodes, edges)
    assert ran.inputs("t") == [{"x": "beside"}]
    assert ran.outcome.termination == "drained"


async def test_what_is_around_a_plain_composite_sees_no_difference():
    def doubled(inputs: dict[str, Any], ctx: Any) -> int:
        return 2 * inputs["x"]

    inner = {
        "d": step("x", "y", doubled),
        "e": step("x:LIST[ANY]", "y", lambda inputs, ctx: sum(inputs["x"])),
    }
    box = Box(
        {"a": into("a"), "b": into("b"), **inner, "c": out("c")},
        ["a.value -> d.x", "d.y -> e.x", "b.value -> e.x", "e.y -> c.value"],
    )
    around: dict[str, Spec] = {"s": emits(v=1, w=10), "t": step("x"), "o": out("score")}
    nested = await run(
        around | {"box": box}, ["s.v -> box.a", "s.w -> box.b", "box.c -> t.x", "t.out -> o.value"]
    )
    flat = await run(
        around | inner, ["s.v -> d.x", "d.y -> e.x", "s.w -> e.x", "e.y -> t.x", "t.out -> o.value"]
    )
    assert [node.removeprefix("box__") for node in nested.order] == flat.order
    assert nested.outcome == flat.outcome
    assert nested.inputs("box__e") == [{"x": [2, 10]}]


async def test_its_nodes_know_its_memory_by_the_name_that_they_gave_it():
    def remember(inputs: dict[str, Any], ctx: Any) -> list[Any]:
        ctx.containers["notes"].write("seen", inputs["x"])
        ctx.graph_state.write("count", 1)
        return [ctx.containers["notes"].read("seen"), ctx.graph_state.read("count"), sorted(ctx.containers)]

    notes = Container("notes", states={"seen": State("accumulator")})
    state = Container("graph_state", states={"count": State("counter")})
    box = Box(
        {"a": into("a"), "n": step("x", "y", remember), "b": out("b")},
        ["a.value -> n.x", "n.y -> b.value"],
        containers=(notes, state),
        grants=(("n", "notes"), ("n", "graph_state")),
    )
    nodes: dict[str, Spec] = {"s": emits(v=1), "one": box, "two": box, "o": out("one"), "p": out("two")}
    edges = ["s.v -> one.a", "s.v -> two.a", "one.b -> o.value", "two.b -> p.value"]
    ran = await run(nodes, edges)
    own = [[1], 1, ["graph_state", "notes"]]
    assert ran.outcome.outputs == {"one": own, "two": own}


async def test_an_error_names_the_path():
    def fail(inputs: dict[str, Any], ctx: Any) -> None:
        raise RuntimeError("no")

    box = Box(
        {"a": into("a"), "in": Box({"b": into("b"), "n": step("x", "y", fail)}, ["b.value -> n.x"])},
        ["a.value -> in.b"],
    )
    ran = await run({"s": emits(v=1), "box": box}, ["s.v -> box.a"])
    assert [(error.node_id, error.message) for error in ran.outcome.node_errors] == [
        ("box > in > n", "RuntimeError: no")
    ]
    (firing,) = ran.of("box__in__n")
    assert firing.planned.node.label == "box > in > n"
