"""Graphs that were saved on a canvas: nothing is found wrong with them that is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.components.builtin_ports import resolve_builtin
from engine.graph.check import check_graph
from engine.graph.expand import expand
from engine.graph.model import Graph, Node, Port, Ports
from engine.graph.plan import firing_cap, plan_graph
from engine.graph.read import dump_graph, load_graph, parse_graph

FOLDER = Path(__file__).parents[1] / "fixtures" / "agentcanvas-graphs"
FILES = sorted(FOLDER.glob("*.json"))


def inventing(graph: Graph) -> Callable[[Node], Ports | None]:
    """Built-in nodes as they are; a nodeset's have just the ports that the edges use."""
    graph = expand(graph).graph

    def resolve(node: Node) -> Ports | None:
        inputs = dict.fromkeys(edge.target_handle for edge in graph.edges if edge.target == node.id)
        outputs = dict.fromkeys(edge.source_handle for edge in graph.edges if edge.source == node.id)
        if "__" not in node.type:
            return resolve_builtin(node)
        return Ports(tuple(Port(name, optional=True) for name in inputs), tuple(map(Port, outputs)))

    return resolve


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_is_wrong(path: Path) -> None:
    graph = load_graph(path)
    found = [(problem.code, problem.where) for problem in check_graph(graph, inventing(graph), [])]
    ignored = [("ignored-budget", "node 'iter_in_outer'")]
    assert found == (ignored if path.stem == "voxposer_libero_decomposed" else [])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_is_lost(path: Path) -> None:
    graph = load_graph(path)
    saved = json.loads(path.read_bytes())
    written = dump_graph(graph)
    assert parse_graph(written) == graph
    assert {key: written[key] for key in saved if key not in ("nodes", "edges", "containers")} == {
        key: value for key, value in saved.items() if key not in ("nodes", "edges", "containers")
    }
    for key in ("nodes", "edges"):
        assert [item | kept for item, kept in zip(saved[key], written[key], strict=True)] == written[key]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_has_a_plan(path: Path) -> None:
    plan = plan_graph(load_graph(path), inventing(load_graph(path)))
    graph = plan.graph
    assert set(plan.order) == set(plan.nodes) == {node.id for node in graph.nodes if node.type != "note"}
    assert plan.entries
    loops = [node.id for node in graph.nodes if node.type == "iterIn" and not node.path]
    assert list(plan.root_loops) == loops
    outputs = {node.id for node in graph.nodes if node.type == "graphOut" and not node.path}
    assert outputs <= (plan.after_band if loops else set(plan.nodes))
    assert firing_cap(plan, 10) >= 3 * len(plan.nodes)


def test_the_loop_of_one_of_them() -> None:
    graph = load_graph(FOLDER / "explore_eqa_hmeqa.json")
    plan = plan_graph(graph, inventing(graph))
    assert plan.entries == ("reset",)
    assert plan.after_band == {
        "aggregate_answer",
        "evaluate",
        "output_port__metrics",
        "output_port__pred_letter",
        "output_port__success",
        "viewer_answer",
        "viewer_metrics",
    }
    assert plan.nodes["vlm_score_post"].loop is None  # writes memory, and leads to no iterOut
    assert plan.nodes["vlm_score_post"].within == ("iter_in",)
    assert plan.nodes["aggregate_answer"].grants == ("explore_eqa_mem",)
    assert "init_step_index" not in plan.loops["iter_in"].init_handles
