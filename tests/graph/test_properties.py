"""What holds of every graph, whatever is drawn."""

from __future__ import annotations

import json
from ast import literal_eval
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.graph.check import check_graph
from engine.graph.model import Graph, GraphError, Problem
from engine.graph.plan import Plan, firing_cap, plan_graph
from engine.graph.read import dump_graph, parse_graph
from tests.graph.drawing import TYPES, errors, resolve, warnings
from tests.graph.strategies import FILES, Nest, graphs, knots, nests, writable_graphs


@given(writable_graphs())
def test_what_is_written_is_read_back(graph: Graph) -> None:
    data = dump_graph(graph)
    assert parse_graph(data) == graph
    assert parse_graph(json.dumps(data).encode()) == graph
    assert parse_graph(json.dumps(data, ensure_ascii=False).encode()) == graph


@given(st.binary() | FILES.map(lambda data: json.dumps(data).encode()) | FILES)
def test_data_is_a_graph_or_refused(data: bytes | dict[str, Any]) -> None:
    try:
        graph = parse_graph(data)
    except GraphError as error:
        found = error.problems
    else:
        found = []
        assert parse_graph(dump_graph(graph)) == graph
    assert all(problem.code and problem.where and problem.message for problem in found)


@given(graphs() | knots())
def test_a_graph_has_a_plan_unless_check_refuses_it(graph: Graph) -> None:
    found = [problem for problem in check_graph(graph, resolve, TYPES) if problem.severity == "error"]
    assert all(problem.code and problem.message for problem in found)
    assert {name for problem in found for name in named(problem)} <= names(graph)
    if found:
        with pytest.raises(GraphError) as caught:
            plan_graph(graph, resolve)
        assert [problem.code for problem in caught.value.problems] == [problem.code for problem in found]
    else:
        assert_sound(plan_graph(graph, resolve))


@given(nests(), st.integers(1, 20))
def test_a_nest_of_loops_is_seen_as_it_was_drawn(nest: Nest, budget: int) -> None:
    graph = nest.graph()
    assert errors(graph) == []
    assert {code for code, _ in warnings(graph)} <= {"ignored-budget"}
    plan = plan_graph(graph, resolve)
    assert_sound(plan)
    assert {node: planned.loop for node, planned in plan.nodes.items()} == nest.loop_of
    assert {loop: plan.loops[loop].parent for loop in plan.loops} == nest.parent
    assert list(plan.root_loops) == nest.roots
    assert plan.after_band == nest.band
    assert plan.entries == ("start",)
    position = {node: place for place, node in enumerate(plan.order)}
    assert all(position[edge.source] < position[edge.target] for edge in graph.edges)
    for loop, parent in nest.parent.items():
        inherited = budget if parent is None else plan.budget(parent, budget)
        own = None if parent is None else nest.budgets[loop]
        assert plan.budget(loop, budget) == (own or inherited)
        assert all(plan.nodes[node].within == around(plan, loop) for node in plan.loops[loop].body)
    assert 3 * len(graph.nodes) <= firing_cap(plan, budget) <= firing_cap(plan, budget + 1)


def named(problem: Problem) -> list[str]:
    """The parts of the graph that a problem is of: their paths, where they are in composites."""
    kind, _, quoted = problem.where.partition(" ")
    return literal_eval(quoted).split(" + ") if kind in ("node", "edge", "container", "grant") else []


def names(graph: Graph, path: str = "") -> set[str]:
    """What there is to be named."""
    parts = (*graph.nodes, *graph.edges, *graph.containers, *graph.grants)
    inner = [names(node.subgraph, f"{path}{node.id} > ") for node in graph.nodes if node.subgraph]
    return {path + part.id for part in parts}.union(*inner)


def assert_sound(plan: Plan) -> None:
    """What an executor relies on."""
    assert sorted(plan.order) == sorted(plan.nodes)
    bodies = [loop.body for loop in plan.loops.values()]
    assert sum(map(len, bodies)) == len(frozenset().union(*bodies))
    for loop_id, loop in plan.loops.items():
        assert {loop.iter_in, loop.iter_out, *loop.held} <= loop.body
        assert all(plan.nodes[node].loop == loop_id for node in loop.body)
        assert all(plan.loops[child].parent == loop_id for child in loop.children)
        assert (loop.parent is None) == (loop_id in plan.root_loops)
        assert loop.parent is None or loop_id in plan.loops[loop.parent].children
        assert loop.init_handles <= set(loop.slots)
        assert not plan.after_band & loop.body
        assert all(set(around(plan, loop_id)) <= set(plan.nodes[node].within) for node in loop.body)
    ends = {plan.loops[root].iter_out for root in plan.root_loops}
    for node_id, node in plan.nodes.items():
        assert node.required <= node.wired
        assert node.is_sink == (not node.out)
        for target in (target for targets in node.out.values() for target in targets):
            assert target.handle in plan.nodes[target.node_id].wired
            enters_band = target.node_id in plan.after_band and node_id not in plan.after_band
            assert not enters_band or not node.within or node_id in ends


def around(plan: Plan, loop: str) -> tuple[str, ...]:
    parent = plan.loops[loop].parent
    return (loop,) if parent is None else (*around(plan, parent), loop)
