"""Each fault is found, alone and with others, and told so that it can be mended."""

from __future__ import annotations

from typing import Any

import pytest

from engine.graph.check import check_graph
from engine.graph.model import Graph, Node, Problem
from tests.graph.drawing import TYPES, check, draw, episode, errors, loop, resolve, warnings
from tests.graph.faults import REFUSED, Cases
from tests.graph.warned import WARNED


def test_a_whole_episode_has_nothing_wrong() -> None:
    assert check(episode()) == []


def rows(table: dict[str, Cases]) -> list[Any]:
    return [
        pytest.param(graph, code, where, id=f"{code}: {what}")
        for code, cases in table.items()
        for what, (graph, where) in cases.items()
    ]


@pytest.mark.parametrize(("graph", "code", "where"), rows(REFUSED))
def test_refused(graph: Graph, code: str, where: str) -> None:
    assert errors(graph) == [(code, where)]


@pytest.mark.parametrize(("graph", "code", "where"), rows(WARNED))
def test_warned_of_but_not_refused(graph: Graph, code: str, where: str) -> None:
    assert warnings(graph).count((code, where)) == 1
    assert errors(graph) == []


def test_accepted() -> None:
    """What the contract allows, though it looks close to what it refuses."""
    graph = episode(
        "reset.instruction > walk_in.anything",
        "walk_in.anything > act.instruction",
        "walk_in.step > look.value",
        "act.default > everything.any",
        "reset.obs > late.value",
        "judge.default > late.value",
        "act.views > live.value",
        look="tool__pass",
        everything="tool__any",
        late="tool__pass",
        live=("graphOut", {"portName": "views"}),
        text="note",
        tool=("tool__pass", {"init_ports": [], "loop_ports": [], "initialize": 1, "termination": 1}),
    )
    assert check(graph) == []


@pytest.mark.parametrize("kind", [{"eval_graph": False}, {"kind": "node"}])
def test_who_needs_no_graph_out(kind: dict[str, Any]) -> None:
    assert errors(draw({"a": "tool__pass"}, **{"eval_graph": True, **kind})) == []


def test_all_problems_at_once_errors_first() -> None:
    graph = episode(
        "reset.obz > look.value",
        "step.done > out.value",
        "reset.instruction > act.obs",
        look="tool__pass",
        again="env__step",
        out=("graphOut", {"portName": "success"}),
        robot="robot__move",
        old="termination",
        spare=("graphOut", {"portName": "extra"}),
        end=("iterOut", {"pairedWith": "start", "ports": [{"name": "x"}]}),
    )
    found = check(graph)
    assert {problem.code for problem in found if problem.severity == "error"} == {
        "unknown-handle",
        "verdict-in-loop",
        "wire-type",
        "required-input-unwired",
        "unknown-node-type",
        "removed",
        "loop-unpaired",
    }
    severities = [problem.severity for problem in found]
    assert severities == sorted(severities)
    assert "warning" in severities


def only(graph: Graph, code: str) -> Problem:
    (problem,) = [found for found in check(graph) if found.code == code]
    return problem


@pytest.mark.parametrize(
    ("graph", "code", "says"),
    [
        (episode(look="env__rest"), "unknown-node-type", "did you mean 'env__reset'"),
        (
            episode(look="env__photograph"),
            "unknown-node-type",
            "env provides env__evaluate, env__reset, env__step",
        ),
        (episode(look="robot__move"), "unknown-node-type", "`evaltower nodesets`"),
        # Its tool's name alone is no reason to offer another nodeset's.
        (episode(look="robot__evaluate"), "unknown-node-type", "`evaltower nodesets`"),
        (episode(look="tools__pass"), "unknown-node-type", "did you mean 'tool__pass'"),
        (episode("reset.obz > look.value", look="tool__pass"), "unknown-handle", "did you mean 'obs'?"),
        (
            episode("reset.q > look.value", look="tool__pass"),
            "unknown-handle",
            "its outputs: 'obs', 'instruction'",
        ),
        (episode("walk_out.obs > look.value", look="tool__pass"), "unknown-handle", "'final_obs'"),
        (episode("rset.obs > look.value", look="tool__pass"), "unknown-node", "did you mean 'reset'?"),
        (
            draw({**loop("a"), "b": ("iterIn", {"pairedWith": "a_uot"})}),
            "loop-unpaired",
            "did you mean 'a_out'?",
        ),
        (draw({"a": "initialize"}), "removed", "config.initPorts"),
        (draw({"a": "termination"}), "removed", "'stop'"),
        (
            episode("step.done > out.value", out=("graphOut", {"portName": "success"})),
            "verdict-in-loop",
            "'walk_out'",
        ),
        (episode("reset.instruction > walk_in.init_ob"), "undeclared-slot", "did you mean 'init_obs'?"),
    ],
)
def test_remedies(graph: Graph, code: str, says: str) -> None:
    assert says in only(graph, code).remedy


def test_an_edge_into_a_slot_that_is_not_declared_is_named_where_one_is_missed() -> None:
    config = {"pairedWith": "walk_out", "initPorts": [{"name": "pose", "required": True}]}
    graph = draw({**loop("walk"), "walk_in": ("iterIn", config), "a": "env__reset"}, "a.obs > walk_in.nope")
    problem = only(graph, "required-input-unwired")
    assert problem.message == "its required input 'init_pose' has no edge"
    stray = f"edge {graph.edges[0].id!r} goes into 'nope', which it does not declare"
    assert problem.remedy == f"wire an edge into 'init_pose'; {stray}"


def test_a_mismatch_names_both_ports() -> None:
    problem = only(episode("reset.instruction > act.obs"), "wire-type")
    assert problem.message == "'reset' instruction into 'act' obs: TEXT does not fit IMAGE"


def test_names_cannot_break_out_of_a_message() -> None:
    (problem,) = check(draw({"a\n\x1b[31m\u202e": "robot__move"}))
    assert problem.where == r"node 'a\n\x1b[31m\u202e'"


def test_no_follow_on_errors_from_a_node_of_unknown_type() -> None:
    graph = episode(
        "reset.obs > robot.camera", "robot.arm > look.value", robot="robot__move", look="tool__pass"
    )
    assert errors(graph) == [("unknown-node-type", "node 'robot'")]


def test_a_resolver_is_asked_once_a_node() -> None:
    asked: list[str] = []

    def counting(node: Node) -> Any:
        asked.append(node.id)
        return resolve(node)

    check_graph(episode(), counting, TYPES)
    assert sorted(asked) == ["act", "judge", "reset", "step", "verdict"]
