"""A graph as a reader follows it, without a screen and on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.control.outline import outline, same_graph
from engine.control.reports import CheckReport
from engine.graph.model import GraphError, Problem
from tests.fakes.control import FakeControl, fake_report
from tests.fakes.finished_runs import fake_row, make_run
from tests.tui.log_lines import line
from tests.tui.offers import follow_graph, offering
from tests.tui.screen import centre, settled, text_of, until, until_seen
from tui.episode.inks import text_of as told
from tui.graph_lines import node_lines, problems_of
from tui.screens.graph import GraphView


def test_nodes_come_in_the_order_in_which_values_flow_and_notes_are_none() -> None:
    found = outline(follow_graph())
    names = [node.id for node in found.nodes]
    assert names.index("reset") < names.index("iter_in") < names.index("agent") < names.index("step")
    assert names.index("step") < names.index("iter_out") < names.index("evaluate")
    assert "note" not in names
    assert found.notes[0].startswith("The policy looks")
    assert found.loops == {"iter_in": "iter_out"}
    assert {node.id for node in found.nodes if node.loops} == {"iter_in", "agent", "step", "iter_out"}


def test_a_wire_tells_both_ends_and_the_type_that_either_says() -> None:
    agent = next(node for node in outline(follow_graph()).nodes if node.id == "agent")
    wire = next(wire for wire in agent.takes if wire.output == "init_rgb")
    assert (wire.source, wire.input, wire.wire_type) == ("iter_in", "rgb", "IMAGE")


def test_the_nodes_of_a_composite_are_told_by_where_they_lie() -> None:
    inner = {
        "nodes": [
            {"id": "in", "type": "graphIn", "config": {"portName": "value"}},
            {"id": "work", "type": "textParse", "config": {}},
            {"id": "out", "type": "graphOut", "config": {"portName": "value"}},
        ],
        "edges": [
            {"id": "a", "source": "in", "target": "work", "sourceHandle": "value", "targetHandle": "text"},
            {"id": "b", "source": "work", "target": "out", "sourceHandle": "value", "targetHandle": "value"},
        ],
    }
    graph = {"name": "g", "nodes": [{"id": "box", "type": "compositeNode", "config": {}, "subgraph": inner}]}
    assert "box > work" in [node.shown for node in outline(graph).nodes]


def test_what_is_no_graph_says_so_and_two_are_the_same_whatever_is_left_to_defaults() -> None:
    with pytest.raises(GraphError):
        outline({"name": "x", "nodes": 3})
    graph = follow_graph()
    assert same_graph(graph, {**graph, "eval_graph": True})
    assert not same_graph(graph, {**graph, "step_budget": 7})
    assert not same_graph({}, graph)


def test_a_problem_stands_at_the_node_that_it_names() -> None:
    found = outline(follow_graph())
    problem = Problem("wire-type", "node 'agent'", "takes TEXT on 'rgb'", "wire an IMAGE")
    by_node = problems_of(found.nodes, [problem, Problem("old", "file", "is old")])
    assert by_node == {"agent": [problem]}
    agent = next(node for node in found.nodes if node.id == "agent")
    lines = [told(line) for line in node_lines(agent, found, by_node["agent"])]
    assert "node 'agent': takes TEXT on 'rgb' (wire an IMAGE)" in lines
    assert any(line.split() == ["action", "→", "step.action"] for line in lines)


@pytest.fixture
def control() -> FakeControl:
    control = offering(FakeControl())
    problem = Problem("wire-type", "node 'agent'", "takes TEXT on 'rgb'", "wire an IMAGE")
    control.answers["validate"] = CheckReport(graph="g", path="g", problems=[problem])
    return control


async def test_without_a_run_a_saved_graph_is_chosen_and_its_faults_are_found(control: FakeControl) -> None:
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("colon", *"graph", "enter")
        await until_seen(pilot, "A small policy.")
        await pilot.press(*"gridhouse", "enter")
        await until_seen(pilot, "12 nodes, 1 error")
        await pilot.press("F")
        await until_seen(pilot, "policy_gridhouse__act")
        assert not any("env_gridhouse__reset" in line for line in text_of(app))
        await pilot.press("tab", "G")
        await until_seen(pilot, "note: The policy looks")


async def test_a_runs_graph_is_the_one_that_it_ran(control: FakeControl, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    control.root = tmp_path
    control.reports = [fake_report(run.run_id, rows=())]
    control.reports[0].path = str(run.path)
    app = centre(control)
    async with app.run_test(size=(160, 45)) as pilot:
        await settled(pilot)
        await pilot.press("colon", *"graph", "enter")
        await until(pilot, lambda: isinstance(app.view, GraphView) and app.view.outline is not None)
        assert isinstance(app.view, GraphView)
        assert app.view.outline is not None
        assert app.view.outline.name == run.read_spec().graph["name"]


async def test_a_graph_that_cannot_be_found_says_why() -> None:
    app = centre(offering(FakeControl()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        app.open_view("graph", "20200101_000000")
        await until_seen(pilot, "spec.json is not there")


async def test_from_a_log_it_is_the_graph_of_that_run(tmp_path: Path) -> None:
    run = make_run(tmp_path, rows=[fake_row(0)], logs={0: [line(0, "reset")]})
    app = centre(offering(FakeControl(tmp_path, [fake_report("20260518_130000")])))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        app.open_log(run.run_id, "ep0000")
        await until_seen(pilot, "reset")
        await pilot.press("colon", *"graph", "enter")
        await until(pilot, lambda: isinstance(app.view, GraphView))
        assert app.view is not None
        assert app.view.target == run.run_id
