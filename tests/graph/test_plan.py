"""What a plan says of a graph: loops, order, targets, budgets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.graph.model import Container, Grant, Graph, GraphError
from engine.graph.plan import LoopPort, Plan, Slot, Target, firing_cap, plan_graph
from tests.graph.drawing import check, draw, episode, loop, resolve


def plan(graph: Graph) -> Plan:
    return plan_graph(graph, resolve)


NESTED = {
    **loop("a", init=("x",)),
    **loop("b", init=("x",), budget=4),
    "s": "env__reset",
    "before": "tool__pass",
    "inner": "tool__pass",
    "beyond": "tool__pass",
    "seen": "textViewer",
    "late": "tool__pass",
}
NESTED_EDGES = (
    "s.obs > a_in.init_x",
    "a_in.init_x > before.value",
    "before.value > b_in.init_x",
    "b_in.init_x > inner.value",
    "inner.value > b_out.x",
    "inner.value > seen.text",
    "b_out.final_x > beyond.value",
    "beyond.value > a_out.x",
    "a_out.final_x > late.value",
)


def test_an_episode() -> None:
    found = plan(episode("act.views > side.images", side="tool__gather", text="note"))
    assert found.entries == ("reset",)
    assert found.root_loops == ("walk_in",)
    assert found.after_band == {"judge", "verdict"}
    assert set(found.nodes) == {"reset", "walk_in", "walk_out", "act", "step", "judge", "verdict", "side"}
    assert {node: found.nodes[node].loop for node in found.nodes} == {
        "reset": None,
        "walk_in": "walk_in",
        "act": "walk_in",
        "step": "walk_in",
        "walk_out": "walk_in",
        "side": None,
        "judge": None,
        "verdict": None,
    }
    assert found.nodes["side"].within == ("walk_in",)
    assert found.nodes["judge"].within == ()
    assert [node for node in found.nodes if found.nodes[node].is_sink] == ["verdict", "side"]
    walk = found.loops["walk_in"]
    assert (walk.parent, walk.children, walk.held, walk.step_budget) == (None, (), (), None)
    assert walk.body == {"walk_in", "act", "step", "walk_out"}
    assert walk.init_handles == {"init_obs"}
    assert walk.init_ports == (LoopPort("obs", "ANY", required=False, persist=False),)
    assert walk.loop_ports == (LoopPort("obs", "ANY", required=False, persist=True),)
    assert [edge.source_handle for edge in walk.final_edges] == ["final_stop"]


def test_nested_loops() -> None:
    found = plan(draw(NESTED, *NESTED_EDGES))
    outer, inner = found.loops["a_in"], found.loops["b_in"]
    assert found.root_loops == ("a_in",)
    assert (outer.parent, outer.children) == (None, ("b_in",))
    assert (inner.parent, inner.children) == ("a_in", ())
    assert outer.body == {"a_in", "before", "beyond", "a_out"}
    assert inner.body == {"b_in", "inner", "b_out"}
    assert found.after_band == {"late"}
    assert {
        node: found.nodes[node].within for node in ("s", "before", "inner", "seen", "beyond", "late")
    } == {
        "s": (),
        "before": ("a_in",),
        "inner": ("a_in", "b_in"),
        "seen": ("a_in", "b_in"),
        "beyond": ("a_in",),
        "late": (),
    }


def test_order_is_that_of_the_data() -> None:
    found = plan(draw(NESTED, *NESTED_EDGES))
    chain = ["s", "a_in", "before", "b_in", "inner", "b_out", "beyond", "a_out", "late"]
    assert [node for node in found.order if node in chain] == chain
    assert sorted(found.order) == sorted(NESTED)


def test_order_with_a_circle_outside_loops() -> None:
    graph = draw(
        {"last": "tool__pass", "there": "tool__any", "back": "tool__any", "s": "env__reset"},
        "s.obs > there.x",
        "there.x > back.x",
        "back.x > there.y",
        "back.x > last.value",
    )
    assert plan(graph).order == ("s", "there", "back", "last")


def test_a_tie_goes_by_the_file() -> None:
    names = ("d", "a", "c", "b")
    assert plan(draw(dict.fromkeys(names, "tool__pass"))).order == names
    assert plan(draw(dict.fromkeys(names, "tool__pass"))).entries == names


@pytest.mark.parametrize(("inner_budget", "expected"), [(4, 4), (None, 10)])
def test_budgets(inner_budget: int | None, expected: int) -> None:
    found = plan(draw({**NESTED, **loop("b", init=("x",), budget=inner_budget)}, *NESTED_EDGES))
    assert found.budget("a_in", 10) == 10
    assert found.budget("b_in", 10) == expected
    once, outer, inner = 2, 4, 4  # s, late; a_in, before, beyond, a_out; b_in, inner, seen, b_out
    assert firing_cap(found, 10) == 3 * (once + outer * 10 + inner * 10 * expected)


def test_a_root_loop_has_the_budget_of_the_episode() -> None:
    graph = draw({**loop("a", budget=3), "s": "env__reset"}, "s.obs > a_in.x", "a_in.x > a_out.x")
    assert plan(graph).loops["a_in"].step_budget is None
    assert plan(graph).budget("a_in", 20) == 20


def test_a_graph_without_a_loop() -> None:
    found = plan(draw({"s": "env__reset", "n": "tool__pass"}, "s.obs > n.value"))
    assert (found.loops, found.root_loops, found.after_band) == ({}, (), frozenset())
    assert firing_cap(found, 500) == 6


def test_root_loops_run_in_the_order_of_the_data_not_of_the_file() -> None:
    graph = draw(
        {
            **loop("later"),
            **loop("apart"),
            **loop("sooner"),
            "s": "env__reset",
            "n": "tool__pass",
            "end": "tool__pass",
        },
        "s.obs > later_in.y",
        "sooner_out.final_x > n.value",
        "later_in.y > later_out.x",
        "n.value > later_in.x",
        "s.obs > sooner_in.x",
        "sooner_in.x > sooner_out.x",
        "s.obs > apart_in.x",
        "apart_in.x > apart_out.x",
        "later_out.final_x > end.value",
    )
    found = plan(graph)
    assert found.root_loops.index("sooner_in") < found.root_loops.index("later_in")
    assert found.root_loops[-1] == "later_in"
    assert found.after_band == {"end"}
    assert found.loops["later_in"].init_handles == {"x", "y"}


def test_a_root_loop_that_feeds_a_loop_inside_another_runs_before_that_one() -> None:
    """The inner loop leads to the outer end by a direct edge, past its own end."""
    graph = draw(
        {**loop("outer"), **loop("inner"), **loop("first"), "s": "env__reset"},
        "s.obs > outer_in.x",
        "outer_in.x > inner_in.x",
        "inner_in.x > outer_out.x",
        "s.obs > first_in.x",
        "first_in.x > first_out.x",
        "first_out.final_x > inner_out.x",
    )
    assert plan(graph).root_loops == ("first_in", "outer_in")
    assert plan(graph).after_band == frozenset()


def test_an_inner_loop_fires_nothing_past_the_end_of_the_outer_one() -> None:
    graph = draw(
        {
            **loop("a"),
            **loop("b"),
            "s": "env__reset",
            "out": ("graphOut", {"portName": "result"}),
            "late": "tool__pass",
        },
        "s.obs > a_in.x",
        "a_in.x > b_in.x",
        "b_in.x > b_out.x",
        "b_in.x > a_out.x",
        "a_out.final_x > out.value",
        "out.value > late.value",
    )
    found = plan(graph)
    assert found.loops["b_in"].held == ()
    assert found.after_band == {"out", "late"}
    assert found.nodes["out"].within == ()


def test_a_composites_way_out_of_an_inner_loop() -> None:
    """A graphOut that passes on is held by the innermost loop that feeds it; an outer one's is not held."""
    graph = draw(
        {
            **loop("a", init=("x",)),
            **loop("b", init=("x",)),
            "s": "env__reset",
            "work": "tool__any",
            "way_out": ("graphOut", {"portName": "success"}),
            "use": "tool__pass",
            "way_on": ("graphOut", {"portName": "more"}),
        },
        "s.obs > a_in.init_x",
        "a_in.init_x > b_in.init_x",
        "b_in.init_x > work.in",
        "work.tick > b_out.x",
        "work.done > b_out.stop",
        "work.result > way_out.value",
        "way_out.value > use.value",
        "use.value > way_on.value",
        "way_on.value > a_out.x",
    )
    found = plan(graph)
    assert found.loops["b_in"].parent == "a_in"
    assert found.loops["b_in"].held == ("way_out",)
    assert found.loops["a_in"].held == ()
    assert found.loops["b_in"].body == {"b_in", "work", "b_out", "way_out"}
    assert found.loops["a_in"].body == {"a_in", "use", "way_on", "a_out"}
    assert found.nodes["use"].within == ("a_in",)
    assert not [problem for problem in check(graph) if problem.code == "leaves-loop"]


def test_the_innermost_loop_holds_a_way_out() -> None:
    graph = draw(
        {
            **loop("a"),
            **loop("b"),
            **loop("c"),
            "s": "env__reset",
            "deep": ("graphOut", {"portName": "deep"}),
            "flat": ("graphOut", {"portName": "flat"}),
        },
        "s.obs > a_in.x",
        "a_in.x > b_in.x",
        "b_in.x > c_in.x",
        "c_in.x > c_out.x",
        "c_in.x > deep.value",
        "deep.value > b_out.x",
        "deep.value > flat.value",
        "flat.value > a_out.x",
    )
    found = plan(graph)
    assert {name: found.loops[name].held for name in found.loops} == {
        "a_in": (),
        "b_in": ("flat",),
        "c_in": ("deep",),
    }
    assert found.nodes["flat"].within == ("a_in", "b_in")


def test_slots_of_an_iter_in() -> None:
    ports = [{"name": "x", "wire_type": "TEXT"}, {"name": "y", "persist": False}]
    graph = draw(
        {
            "a": ("iterIn", {"pairedWith": "b", "ports": [1], "initPorts": [{"name": "x", "persist": True}]}),
            "b": ("iterOut", {"pairedWith": "a", "ports": ports}),
            "s": "env__reset",
        },
        "s.obs > a.init_x",
        "s.obs > a.extra",
        "s.instruction > a.iterout_x",
        "a.step > b.y",
        "a.extra > a.again",
    )  # fmt: skip
    found = plan(graph)
    assert list(found.loops["a"].slots.values()) == [
        Slot("init_x", "ANY", persist=True, declared=True),
        Slot("iterout_x", "TEXT", persist=True, declared=True),
        Slot("iterout_y", "ANY", persist=False, declared=True),
        Slot("extra", "ANY"),
        Slot("again", "ANY"),
    ]
    assert found.loops["a"].init_handles == {"init_x", "extra", "iterout_x"}
    outputs = [port.name for port in found.nodes["a"].ports.outputs]
    assert outputs == ["init_x", "iterout_x", "iterout_y", "extra", "again", "step"]
    assert [port.name for port in found.nodes["b"].ports.inputs] == ["x", "y", "stop"]
    assert [port.name for port in found.nodes["b"].ports.outputs] == ["final_x", "final_y", "final_stop"]


def test_targets_keep_the_order_of_the_edges_and_wrap_scalars() -> None:
    graph = draw(
        {"s": "env__reset", "act": "policy__act", "any": "tool__any", "many": "tool__gather"},
        "any.x > many.images",
        "act.views > many.images",
        "s.obs > act.obs",
        "s.obs > many.images",
    )
    found = plan(graph)
    assert found.nodes["s"].out == {
        "obs": (Target("act", "obs", "e2", 2), Target("many", "images", "e3", 3, wrap=True))
    }
    assert found.nodes["act"].out == {"views": (Target("many", "images", "e1", 1),)}
    assert found.nodes["any"].out == {"x": (Target("many", "images", "e0", 0),)}
    assert found.nodes["many"].list_inputs == {"images"}
    assert found.nodes["many"].wired == {"images"}


def test_slots_of_a_list_type_do_not_gather() -> None:
    config = {"pairedWith": "b", "initPorts": [{"name": "x", "wire_type": "LIST[IMAGE]"}]}
    graph = draw(
        {
            "a": ("iterIn", config),
            "b": ("iterOut", {"pairedWith": "a", "ports": [{"name": "x"}]}),
            "s": "env__reset",
        },
        "s.obs > a.init_x",
        "a.init_x > b.x",
    )
    found = plan(graph)
    assert found.nodes["a"].list_inputs == frozenset()
    assert found.nodes["s"].out["obs"][0].wrap


def test_grants_and_required_inputs() -> None:
    graph = replace(
        episode(),
        containers=(Container("memory"), Container("map")),
        grants=(Grant("g1", "act", "memory"), Grant("g2", "act", "map"), Grant("g3", "step", "map")),
    )
    found = plan(graph)
    assert found.nodes["act"].grants == ("memory", "map")
    assert found.nodes["step"].grants == ("map",)
    assert found.nodes["judge"].grants == ()
    assert (found.nodes["act"].required, found.nodes["judge"].required) == ({"obs"}, {"trigger"})


def test_who_starts() -> None:
    graph = draw(
        {**loop("a"), "s": "env__reset", "n": "tool__pass", "alone": "textViewer", "text": "note"},
        "s.obs > n.value",
    )
    assert plan(graph).entries == ("s", "alone")


def test_a_refused_graph_has_no_plan() -> None:
    with pytest.raises(GraphError) as caught:
        plan(episode(robot="robot__move", tool="robot__stop"))
    assert [problem.where for problem in caught.value.problems] == ["node 'robot'", "node 'tool'"]
