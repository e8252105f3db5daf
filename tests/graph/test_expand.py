"""Contract graph-json.md, "Composites": what is left when they are expanded."""

from __future__ import annotations

import pytest

from engine.graph.expand import expand
from engine.graph.model import Container, Grant, Graph, GraphError
from engine.graph.plan import plan_graph
from tests.graph.drawing import Drawn, draw, episode, errors, loop, port_in, port_out, resolve

PASSING = draw(
    {"i": port_in("x"), "n": "tool__pass", "o": port_out("y")}, "i.value > n.value", "n.value > o.value"
)
LOOPING = draw(
    {"i": port_in("x"), **loop("a", init=("x",)), "n": "tool__pass", "o": port_out("y")},
    "i.value > a_in.init_x",
    "a_in.init_x > n.value",
    "a_in.iterout_x > n.value",
    "n.value > a_out.x",
    "n.value > o.value",
)


def around(inner: Graph, *edges: str, **more: Drawn) -> Graph:
    """``s`` into the port ``x`` of the composite ``box``, and its ``y`` into ``t``."""
    nodes: dict[str, Drawn] = {"s": "env__reset", "box": inner, "t": "tool__pass", **more}
    return draw(nodes, "s.obs > box.x", "box.y > t.value", *edges)


def joined(graph: Graph) -> list[str]:
    """The edges without composites, as they are drawn."""
    assert errors(graph) == []
    return [
        f"{edge.source}.{edge.source_handle} > {edge.target}.{edge.target_handle}"
        for edge in expand(graph).graph.edges
    ]


def test_inner_nodes_take_the_place_of_the_composite() -> None:
    flat = expand(around(PASSING)).graph
    assert [node.id for node in flat.nodes] == ["s", "box__n", "t"]
    assert [(node.path, node.shown, node.label) for node in flat.nodes if node.path] == [
        (("box", "n"), "box > n", "box > n")
    ]


def test_a_graph_without_composites_is_itself() -> None:
    graph = episode()
    assert expand(graph).graph is graph


def test_ports_join_the_edges_of_both_levels() -> None:
    assert joined(around(PASSING)) == ["box__n.value > t.value", "s.obs > box__n.value"]


def test_ports_of_composites_in_composites() -> None:
    outer = draw(
        {"i": port_in("x"), "box": PASSING, "o": port_out("y")}, "i.value > box.x", "box.y > o.value"
    )
    assert joined(around(outer)) == ["box__box__n.value > t.value", "s.obs > box__box__n.value"]
    assert [node.shown for node in expand(around(outer)).graph.nodes] == ["s", "box > box > n", "t"]


def test_an_input_that_is_an_output_passes_through() -> None:
    assert joined(around(draw({"i": port_in("x"), "o": port_out("y")}, "i.value > o.value"))) == [
        "s.obs > t.value"
    ]


def test_several_edges_meet_in_a_port() -> None:
    twice = draw(
        {"i": port_in("x"), "n": "tool__gather", "m": "tool__pass", "o": port_out("y")},
        "m.value > n.images",
        "i.value > n.images",
        "i.value > m.value",
        "n.count > o.value",
        "m.value > o.value",
    )
    assert joined(around(twice, "r.obs > box.x", "box.y > u.value", r="env__reset", u="tool__pass")) == [
        "box__n.count > t.value",
        "box__m.value > t.value",
        "box__n.count > u.value",
        "box__m.value > u.value",
        "box__m.value > box__n.images",
        "s.obs > box__n.images",
        "r.obs > box__n.images",
        "s.obs > box__m.value",
        "r.obs > box__m.value",
    ]


def test_a_ring_through_ports_carries_nothing() -> None:
    through = draw({"i": port_in("x"), "o": port_out("y")}, "i.value > o.value")
    assert joined(draw({"box": through}, "box.y > box.x")) == []


def test_a_port_without_a_name() -> None:
    plain = draw(
        {"i": "graphIn", "n": "tool__pass", "o": "graphOut"}, "i.value > n.value", "n.value > o.value"
    )
    edges = ("s.obs > box.input", "box.output > t.value")
    assert joined(draw({"s": "env__reset", "box": plain, "t": "tool__pass"}, *edges)) == [
        "box__n.value > t.value",
        "s.obs > box__n.value",
    ]


def test_a_composite_that_holds_a_loop_keeps_its_outputs() -> None:
    graph = around(LOOPING)
    assert joined(graph)[:2] == ["box__o.value > t.value", "s.obs > box__a_in.init_x"]
    plan = plan_graph(graph, resolve)
    assert plan.root_loops == ("box__a_in",)
    assert plan.loops["box__a_in"].held == ("box__o",)
    assert plan.loops["box__a_in"].iter_out == "box__a_out"
    assert plan.after_band == {"t"}


def test_an_output_that_nobody_takes_is_kept_too() -> None:
    plan = plan_graph(draw({"s": "env__reset", "box": LOOPING}, "s.obs > box.x"), resolve)
    assert plan.loops["box__a_in"].held == ("box__o",)


def test_the_outer_composite_of_one_with_a_loop_joins() -> None:
    outer = draw({"i": port_in("x"), "in": LOOPING, "o": port_out("y")}, "i.value > in.x", "in.y > o.value")
    assert joined(around(outer))[:2] == ["box__in__o.value > t.value", "s.obs > box__in__a_in.init_x"]


TWO = {**loop("a", init=("x",)), **loop("b", init=("x",)), "o": port_out("y")}
ONE_AFTER_THE_OTHER = ("a_in.init_x > a_out.x", "a_out.final_x > b_in.init_x", "b_in.init_x > b_out.x")
ONE_IN_THE_OTHER = ("a_in.init_x > b_in.init_x", "b_in.init_x > b_out.x", "b_out.final_x > a_out.x")


@pytest.mark.parametrize(
    ("edges", "source", "keeper"),
    [
        (ONE_AFTER_THE_OTHER, "a_in.init_x", "a"),
        (ONE_AFTER_THE_OTHER, "b_in.init_x", "b"),
        (ONE_AFTER_THE_OTHER, "b_out.final_x", "b"),
        (ONE_IN_THE_OTHER, "b_in.init_x", "a"),
        (ONE_IN_THE_OTHER, "i.value", "a"),
    ],
    ids=["first of two", "second of two", "end of the second", "inner of two", "beside both"],
)
def test_which_loop_an_output_waits_for(edges: tuple[str, ...], source: str, keeper: str) -> None:
    inner = draw({"i": port_in("x"), **TWO}, "i.value > a_in.init_x", *edges, f"{source} > o.value")
    plan = plan_graph(around(inner), resolve)
    assert {loop_id: found.held for loop_id, found in plan.loops.items() if found.held} == {
        f"box__{keeper}_in": ("box__o",)
    }
    assert errors(around(inner)) == []


def test_memory_goes_with_its_nodes() -> None:
    inner = draw(
        {"n": "tool__pass", "m": "tool__pass"},
        containers=(Container("c"),),
        grants=(Grant("g", "n", "c"), Grant("h", "m", "shared"), Grant("k", "m", "theirs")),
    )
    flat = expand(draw({"box": inner}, containers=(Container("c"), Container("shared")))).graph
    assert [(container.id, container.name) for container in flat.containers] == [
        ("c", ""),
        ("shared", ""),
        ("box__c", "c"),
    ]
    assert [(grant.id, grant.node_id, grant.container_id) for grant in flat.grants] == [
        ("box__g", "box__n", "box__c"),
        ("box__h", "box__m", "shared"),
        ("box__k", "box__m", "theirs"),
    ]


def test_problems_are_told_in_the_names_of_the_file() -> None:
    inner = draw({"i": port_in("x"), "n": "tool__passs", "v": "textViewer"}, "n.value > w.text")
    with pytest.raises(GraphError) as caught:
        plan_graph(draw({"outer": draw({"box": inner})}), resolve)
    text = str(caught.value)
    assert "node 'outer > box > n': no nodeset provides the type 'tool__passs'" in text
    assert "edge 'outer > box > e0': goes to node 'outer > box > w', which is not in the graph" in text
    assert "did you mean 'outer > box > v'" in text
    assert "__box" not in text


def test_a_pair_does_not_reach_out_of_its_composite() -> None:
    half = draw({"b": ("iterOut", {"pairedWith": "a", "ports": [{"name": "x"}]})})
    assert errors(draw({"a": ("iterIn", {"pairedWith": "b"}), "box": half})) == [
        ("loop-unpaired", "node 'a'"),
        ("loop-unpaired", "node 'box > b'"),
    ]


def test_an_input_that_nothing_feeds() -> None:
    inner = draw({"i": port_in("obs"), "n": "policy__act"}, "i.value > n.obs")
    assert errors(draw({"box": inner})) == [("required-input-unwired", "node 'box > n'")]


def test_a_drawing_aid_is_no_composite() -> None:
    assert errors(draw({"box": "compositeNode"})) == []
