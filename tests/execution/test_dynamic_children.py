"""Contract graph-json.md, "Dynamic children"."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.components.errors import HostCrashed, StopExecution
from engine.components.firelist import FireList, FireSpec
from engine.execution.firing_log import EpisodeLog
from engine.graph.model import Container, State
from engine.store.jsonl import read_lines
from tests.execution.sketch import Box, Ran, Spec, emits, loop, out, run, step

ECHO = {"echo": step("x?", "y", lambda inputs, ctx: inputs.get("x"))}


def echo(x: Any, **more: Any) -> FireSpec:
    return FireSpec("test__echo", {"x": x}, **more)


async def spawned(
    *specs: FireSpec,
    children: dict[str, Spec] | None = None,
    outputs: dict[str, Any] | None = None,
    aggregator: dict[str, Any] | str | None = None,
    **options: Any,
) -> Ran:
    """One node that has ``specs`` fired, and a sink behind it."""
    listed = FireList(list(specs), outputs or {}, aggregator or {})
    nodes: dict[str, Spec] = {"s": step("", "out said", lambda inputs, ctx: listed), "t": step("x")}
    return await run(nodes, ["s.out -> t.x"], children=children or ECHO, **options)


async def test_children_fire_in_turn_and_the_node_makes_its_outputs_of_their_results():
    ran = await spawned(echo("a"), echo("b"), echo("c"))
    assert ran.order == ["s::dyn0", "s::dyn1", "s::dyn2", "s", "t"]
    assert ran.inputs("t") == [{"x": [{"y": "a"}, {"y": "b"}, {"y": "c"}]}]


async def test_no_children_at_all():
    assert (await spawned()).inputs("t") == [{"x": []}]


async def test_its_own_outputs_stand_beside_and_yield_to_what_comes_of_the_children():
    ran = await spawned(echo("a"), outputs={"out": "own", "said": "own"})
    assert ran.of("s")[0].outputs == {"out": [{"y": "a"}], "said": "own"}


async def test_only_captured_outputs_count():
    children = {"two": step("", "y z", lambda inputs, ctx: {"y": 1, "z": 2})}
    ran = await spawned(
        FireSpec("test__two", capture_outputs=["z", "none"]), FireSpec("test__two"), children=children
    )
    assert ran.inputs("t") == [{"x": [{"z": 2}, {"y": 1, "z": 2}]}]
    assert ran.of("s::dyn0")[0].outputs == {"y": 1, "z": 2}


RESULTS = ({"out": 1, "y": "a"}, {"out": 2, "z": "b"})


@pytest.mark.parametrize(
    ("aggregator", "outputs"),
    [
        ({"kind": "passthrough_last"}, {"out": 2, "z": "b"}),
        ({"kind": "passthrough_index", "index": 0}, {"out": 1, "y": "a"}),
        ({"kind": "passthrough_index", "index": 9}, {}),
        ({"kind": "merge_all"}, {"out": 2, "y": "a", "z": "b"}),
        ("merge_all", {"out": 2, "y": "a", "z": "b"}),
        ({"kind": "rename", "map": {"z": "out"}, "inner": "passthrough_last"}, {"out": "b"}),
        ({"kind": "rename", "map": {"z": "out"}, "inner": {"kind": "passthrough_last"}}, {"out": "b"}),
    ],
)
async def test_recipes(aggregator: dict[str, Any] | str, outputs: dict[str, Any]):
    children = {"give": step("x", "out y z", lambda inputs, ctx: RESULTS[inputs["x"]])}
    specs = [FireSpec("test__give", {"x": 0}), FireSpec("test__give", {"x": 1})]
    ran = await spawned(*specs, children=children, aggregator=aggregator)
    assert ran.of("s")[0].outputs == outputs


async def test_a_recipe_with_nobody_to_fire():
    for kind in ("passthrough_last", "passthrough_index", "merge_all"):
        assert (await spawned(aggregator={"kind": kind})).of("s")[0].outputs == {}


async def test_a_child_gets_its_config_and_the_spawners_memory():
    def look(inputs: dict[str, Any], ctx: Any) -> Any:
        ctx.containers["c"].write("s", "seen")
        return ctx.containers["c"].read("s")

    ran = await run(
        {"s": step("", "out", lambda inputs, ctx: FireList([FireSpec("test__look")] * 2)), "t": step("x")},
        ["s.out -> t.x"],
        children={"look": step("", "y", look)},
        containers=(Container("c", states={"s": State("accumulator")}),),
        grants=(("s", "c"),),
    )
    assert ran.inputs("t") == [{"x": [{"y": ["seen"]}, {"y": ["seen", "seen"]}]}]


async def test_a_child_may_be_built_in():
    parse = FireSpec("textParse", {"text": "go LEFT"}, {"choices": "LEFT,RIGHT"})
    ran = await spawned(
        parse, aggregator={"kind": "rename", "map": {"value": "out"}, "inner": {"kind": "merge_all"}}
    )
    assert ran.inputs("t") == [{"x": "LEFT"}]


async def test_each_firing_has_fresh_children_with_keys_of_their_own():
    keys: list[int] = []
    turns = 0

    def spawn(inputs: dict[str, Any], ctx: Any) -> FireList:
        nonlocal turns
        turns += 1
        kind = "test__key" if turns != 2 else "test__echo"
        return FireList(
            [FireSpec(kind, {"x": turns}), FireSpec("test__key")], {"y": turns, "stop": turns == 3}
        )

    nodes = {"s": emits(go=1), **loop(init="go+", carry="y"), "n": step("x", "y stop out", spawn)}
    edges = [
        "s.go -> loop_in.init_go",
        "loop_in.init_go -> n.x",
        "n.y -> loop_out.y",
        "n.stop -> loop_out.stop",
    ]
    children = {**ECHO, "key": step("x?", "y", lambda inputs, ctx: keys.append(ctx.key))}
    ran = await run(nodes, edges, children=children, budget=9)
    assert ran.outcome.node_errors == []
    assert len(set(keys)) == len(keys) == 5
    assert ran.of("n::dyn0")[1].outputs == {"y": 2}
    again = list(keys)
    keys.clear()
    turns = 0
    await run(nodes, edges, children=children, budget=9)
    assert keys == again


def fails(inputs: dict[str, Any], ctx: Any) -> None:
    raise RuntimeError("no")


NESTED = step("", "y", lambda inputs, ctx: FireList([echo(1)]))


@pytest.mark.parametrize(
    ("spec", "where", "message"),
    [
        (FireSpec("test__fails"), "s::dyn1", "RuntimeError: no"),
        (FireSpec("test__says"), "s::dyn1", "out of milk"),
        (FireSpec("test__nested"), "s::dyn1", "ValueError: a dynamic child may not return a FireList"),
        (FireSpec("iterIn"), "s", "ValueError: a dynamic child may not be of type iterIn"),
        (FireSpec("graphOut"), "s", "ValueError: a dynamic child may not be of type graphOut"),
        (
            FireSpec("no__such"),
            "s",
            "ValueError: its child 1 is of type 'no__such', which nothing here fires",
        ),
    ],
)
async def test_a_child_that_fails_ends_the_list_and_the_node_says_so(
    spec: FireSpec, where: str, message: str
):
    says = step("", "y", lambda inputs, ctx: {"error": "out of milk"})
    children = {**ECHO, "fails": step("", "y", fails), "says": says, "nested": NESTED}
    ran = await spawned(echo(0), spec, echo(2), children=children)
    assert [(error.node_id, error.message) for error in ran.outcome.node_errors] == [(where, message)]
    assert "s::dyn2" not in ran.order
    assert "t" not in ran.order
    assert message in str(ran.of("s")[0].error)


async def test_a_declared_error_output_is_none():
    children = {"may": step("", "error", lambda inputs, ctx: {"error": "part of the result"})}
    ran = await spawned(FireSpec("test__may"), children=children)
    assert ran.outcome.node_errors == []
    assert ran.inputs("t") == [{"x": [{"error": "part of the result"}]}]


@pytest.mark.parametrize("error", [StopExecution("enough"), HostCrashed("gone")])
async def test_a_child_may_end_the_run(error: Exception):
    def end(inputs: dict[str, Any], ctx: Any) -> None:
        raise error

    ran = await spawned(FireSpec("test__end"), echo(1), children={**ECHO, "end": step("", "y", end)})
    assert ran.order == ["s::dyn0", "s"]
    assert ran.outcome.node_errors == []
    assert (ran.outcome.node_stop, ran.outcome.failure) == (
        ("enough", None) if isinstance(error, StopExecution) else (None, error)
    )


@pytest.mark.parametrize(
    ("aggregate", "says"),
    [
        (lambda results: 1 / 0, "ZeroDivisionError"),
        (lambda results: results, "aggregate must return a dict of outputs by port name, not list"),
    ],
)
async def test_an_aggregate_that_fails(aggregate: Any, says: str):
    node = step("", "out", lambda inputs, ctx: FireList([echo(1)]))
    node.aggregate = aggregate
    ran = await run({"s": node, "t": step("x")}, ["s.out -> t.x"], children=ECHO)
    assert says in ran.outcome.node_errors[0].message
    assert ran.order == ["s::dyn0", "s"]


async def test_an_unknown_recipe():
    ran = await spawned(echo(1), aggregator={"kind": "sum"})
    assert (
        "there are passthrough_last, passthrough_index, merge_all, rename"
        in ran.outcome.node_errors[0].message
    )


async def test_the_log_says_whose_children_they_are(tmp_path):
    box = Box(
        {"n": step("", "out", lambda inputs, ctx: FireList([echo(1, label="one"), echo(2)])), "o": out("y")},
        ["n.out -> o.value"],
    )
    log = EpisodeLog(tmp_path)
    await run({"box": box}, children=ECHO, log=log)
    log.close()
    lines = [json.loads(line) for line in read_lines(tmp_path / "log.jsonl")]
    keys = ("node_id", "node_label", "parent_node_id", "dynamic_index", "port_wire_types")
    ports = {"x": "ANY", "y": "ANY"}
    assert [tuple(line[key] for key in keys) for line in lines] == [
        ("box__n::dyn0", "one", "box__n", 0, ports),
        ("box__n::dyn1", "test__echo#1", "box__n", 1, ports),
        ("box__n", "box > n", None, None, {"out": "ANY"}),
    ]
