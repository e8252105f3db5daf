"""Files and data into graphs and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.graph.decode import MAX_DEPTH
from engine.graph.hooks import enabled_hooks, hook_problems
from engine.graph.model import Edge, Graph, GraphError
from engine.graph.read import dump_graph, load_graph, parse_graph

FULL: dict[str, Any] = {
    "name": "full",
    "description": "every key, and an unknown one at every level",
    "step_budget": 7,
    "eval_graph": False,
    "eval_split": "hard",
    "kind": "node",
    "group": "history",
    "presetId": "p1",
    "nodes": [
        {
            "id": "n",
            "type": "env__step",
            "label": "Step",
            "position": {"x": 1, "y": 2.5},
            "config": {"deep": [{"a": None}]},
            "subgraph": {
                "name": "inner",
                "description": "",
                "step_budget": None,
                "eval_graph": True,
                "nodes": [{"id": "m", "type": "note", "label": "", "config": {}, "colour": "blue"}],
                "edges": [],
                "group": "inner, too",
            },
            "colour": "red",
        }
    ],
    "edges": [
        {
            "id": "e",
            "source": "n",
            "target": "n",
            "sourceHandle": "a",
            "targetHandle": "b",
            "animated": True,
        }
    ],
    "containers": [
        {
            "id": "c",
            "label": "Memory",
            "states": {
                "s": {
                    "type": "accumulator",
                    "value_type": "TEXT",
                    "config": {"max_size": 3},
                    "lifetime": "custom",
                    "reset_on": ["done"],
                    "unit": "m",
                }
            },
            "position": {"x": 0, "y": 0},
        }
    ],
    "access_grants": [{"id": "g", "node_id": "n", "container_id": "c", "since": 1}],
    "hooks": [
        {
            "event": "GraphStart",
            "command": "true",
            "match_node_type": "env__*",
            "match_node_id": "n",
            "timeout_ms": 10,
            "enabled": False,
            "note": "",
        }
    ],
}


def problems(data: bytes | dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(GraphError) as caught:
        parse_graph(data)
    return [(problem.code, problem.where) for problem in caught.value.problems]


def test_every_key_is_read_and_written_back() -> None:
    graph = parse_graph(FULL)
    assert dump_graph(graph) == FULL
    assert parse_graph(json.dumps(dump_graph(graph)).encode()) == graph
    assert (graph.step_budget, graph.eval_graph, graph.eval_split, graph.kind) == (7, False, "hard", "node")
    assert graph.extra == {"group": "history", "presetId": "p1"}
    assert graph.node("n").extra == {"position": {"x": 1, "y": 2.5}, "colour": "red"}
    assert graph.containers[0].states["s"].reset_on == ("done",)
    assert graph.grants[0].container_id == "c"
    assert graph.hooks[0].match_node_id == "n"


def test_what_is_absent_has_its_default() -> None:
    graph = parse_graph({"nodes": [{"id": "n", "type": "note", "config": None, "label": None}]})
    assert graph == Graph(name="", nodes=graph.nodes)
    assert (graph.step_budget, graph.eval_graph, graph.kind, graph.edges) == (500, True, "graph", ())
    assert (graph.node("n").label, graph.node("n").config, graph.node("n").subgraph) == ("", {}, None)
    assert parse_graph(dump_graph(graph)) == graph
    assert not {"kind", "eval_split", "containers", "access_grants", "hooks"} & set(dump_graph(graph))


def test_null_step_budget_leaves_it_open() -> None:
    graph = parse_graph({"step_budget": None})
    assert graph.step_budget is None
    assert dump_graph(graph)["step_budget"] is None


@pytest.mark.parametrize(
    ("data", "budget"),
    [
        ({"maxIterations": 12}, 12),
        ({"maxIterations": 12, "step_budget": 3}, 3),
        ({"maxIterations": None}, 500),
    ],
)
def test_the_old_name_of_step_budget_is_read(data: dict[str, Any], budget: int) -> None:
    graph = parse_graph(data)
    assert graph.step_budget == budget
    assert parse_graph(dump_graph(graph)) == graph


@pytest.mark.parametrize(
    ("handles", "expected"),
    [
        ({}, ("default", "default")),
        ({"sourceHandle": "a"}, ("a", "a")),
        ({"targetHandle": "b"}, ("default", "b")),
        ({"sourceHandle": None, "targetHandle": ""}, ("default", "default")),
        ({"sourceHandle": "a", "targetHandle": "b"}, ("a", "b")),
    ],
)
def test_missing_handles(handles: dict[str, Any], expected: tuple[str, str]) -> None:
    graph = parse_graph({"edges": [{"id": "e", "source": "s", "target": "t", **handles}]})
    assert graph.edges == (Edge("e", "s", "t", *expected),)


@pytest.mark.parametrize(
    ("data", "code", "says"),
    [
        (b"{", "not-json", "line 1, column 2"),
        (b"", "not-json", "line 1, column 1"),
        (b"\xff\xfe{}", "not-utf8", "byte 0xff at offset 0"),
        ('{"name": "Zürich"}'.encode("latin-1"), "not-utf8", "byte 0xfc at offset 11"),
        ("{}".encode("utf-16"), "not-utf8", "offset 0"),
        (b"[" * 100_000, "too-deep", f"{MAX_DEPTH} levels"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "too-deep", f"{MAX_DEPTH} levels"),
        (b"[]", "wrong-type", "a graph is an object, not a list"),
        (b"null", "wrong-type", "not null"),
        (b'{"name": NaN}', "not-json", "nan is not a JSON number"),
        (b'{"step_budget": 1e999}', "not-json", "inf is not a JSON number"),
        (b'{"step_budget": ' + b"9" * 5000 + b"}", "not-json", "4300"),
        (b'{"name": "\\ud800"}', "not-json", "lone surrogate"),
        (b'{"\\ud800": 1}', "not-json", "lone surrogate"),
        (b'{"name": "a", "name": "b"}', "duplicate-key", "'name' twice"),
    ],
)
def test_not_a_graph_file(data: bytes, code: str, says: str) -> None:
    with pytest.raises(GraphError) as caught:
        parse_graph(data, "there.json")
    (problem,) = caught.value.problems
    assert problem.code == code
    assert says in problem.message
    assert caught.value.source == "there.json"
    assert problem.message in str(caught.value)


def test_a_byte_order_mark_is_no_fault() -> None:
    assert parse_graph(b'\xef\xbb\xbf{"name": "a"}').name == "a"


def test_deep_but_not_too_deep() -> None:
    config: dict[str, Any] = {}
    for _ in range(MAX_DEPTH - 4):
        config = {"inner": config}
    data = {"nodes": [{"id": "n", "type": "note", "config": config}]}
    assert parse_graph(json.dumps(data).encode()) == parse_graph(data)


@pytest.mark.parametrize(
    ("value", "says"),
    [({1: "a"}, "key is not a string"), ({"a": {2, 3}}, "set is not JSON data"), ({"a": b""}, "bytes")],
)
def test_data_that_is_not_json(value: dict[Any, Any], says: str) -> None:
    with pytest.raises(GraphError) as caught:
        parse_graph(value)
    assert says in str(caught.value)


def test_data_that_holds_itself_is_nested_too_deep() -> None:
    value: dict[str, Any] = {}
    value["again"] = value
    assert problems(value)[0][0] == "too-deep"


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ({"name": 3}, "graph.name"),
        ({"step_budget": "many"}, "graph.step_budget"),
        ({"step_budget": True}, "graph.step_budget"),
        ({"step_budget": 1.5}, "graph.step_budget"),
        ({"maxIterations": "many"}, "graph.maxIterations"),
        ({"eval_graph": 1}, "graph.eval_graph"),
        ({"eval_split": 1}, "graph.eval_split"),
        ({"nodes": {}}, "graph.nodes"),
        ({"nodes": ["a"]}, "nodes[0]"),
        ({"nodes": [{"id": 3, "type": "t"}]}, "nodes[0].id"),
        ({"nodes": [{"id": "n", "type": ["t"]}]}, "nodes[0] 'n'.type"),
        ({"nodes": [{"id": "n", "type": "t", "config": []}]}, "nodes[0] 'n'.config"),
        ({"nodes": [{"id": "n", "type": "t", "subgraph": "s"}]}, "nodes[0] 'n'.subgraph"),
        (
            {"nodes": [{"id": "n", "type": "t", "subgraph": {"nodes": [{"id": "m", "type": 1}]}}]},
            "nodes[0] 'n' > nodes[0] 'm'.type",
        ),
        (
            {"edges": [{"id": "e", "source": "s", "target": "t", "sourceHandle": 0}]},
            "edges[0] 'e'.sourceHandle",
        ),
        ({"containers": [{"id": "c", "states": []}]}, "containers[0] 'c'.states"),
        ({"containers": [{"id": "c", "states": {"s": 1}}]}, "containers[0] 'c'.states.s"),
        ({"containers": [{"id": "c", "states": {"s": {"type": 1}}}]}, "containers[0] 'c'.states.s.type"),
        (
            {"containers": [{"id": "c", "states": {"s": {"reset_on": [1]}}}]},
            "containers[0] 'c'.states.s.reset_on",
        ),
        ({"hooks": [{"event": "e", "command": "c", "timeout_ms": "1"}]}, "hooks[0].timeout_ms"),
    ],
)
def test_wrong_types(data: dict[str, Any], where: str) -> None:
    assert problems(data) == [("wrong-type", where)]


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ({"nodes": [{"type": "t"}]}, "nodes[0]"),
        ({"nodes": [{"id": "n"}]}, "nodes[0] 'n'"),
        ({"nodes": [{"id": "", "type": "t"}]}, "nodes[0]"),
        ({"edges": [{"id": "e", "target": "t"}]}, "edges[0] 'e'"),
        ({"access_grants": [{"id": "g", "node_id": "n"}]}, "access_grants[0] 'g'"),
        ({"hooks": [{"event": "GraphStart"}]}, "hooks[0]"),
    ],
)
def test_missing_keys(data: dict[str, Any], where: str) -> None:
    assert problems(data) == [("missing-key", where)]


def test_every_malformed_hook_is_told_wherever_it_is() -> None:
    hooks = [{"event": "GraphStart"}, {"event": "GraphStart", "command": "true"}, 7]
    node = {"id": "n", "type": "t", "config": {"hooks": hooks}}
    data = {"nodes": [node, {"id": "box", "type": "compositeNode", "subgraph": {"nodes": [node]}}]}
    assert problems({**data, "hooks": hooks}) == [
        ("missing-key", "hooks[0]"),
        ("wrong-type", "hooks[2]"),
        ("missing-key", "node 'n', config.hooks: hooks[0]"),
        ("wrong-type", "node 'n', config.hooks: hooks[2]"),
        ("missing-key", "node 'box' > node 'n', config.hooks: hooks[0]"),
        ("wrong-type", "node 'box' > node 'n', config.hooks: hooks[2]"),
    ]
    readable = parse_graph({"nodes": [node]})
    assert [hook.command for hook in enabled_hooks(readable)] == ["true"]
    assert [problem.code for problem in hook_problems(readable)] == ["missing-key", "wrong-type"]


def test_all_problems_at_once() -> None:
    data = {
        "name": 1,
        "nodes": [{"id": "n", "type": 2}, 3, {"type": "t", "config": 4}],
        "edges": [{"id": "e", "source": "n"}],
    }
    assert problems(data) == [
        ("wrong-type", "graph.name"),
        ("wrong-type", "nodes[0] 'n'.type"),
        ("wrong-type", "nodes[1]"),
        ("missing-key", "nodes[2]"),
        ("wrong-type", "nodes[2].config"),
        ("missing-key", "edges[0] 'e'"),
    ]


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(FULL))
    assert load_graph(path) == parse_graph(FULL)
    for unreadable in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(GraphError) as caught:
            load_graph(unreadable)
        assert [problem.code for problem in caught.value.problems] == ["unreadable"]
        assert str(unreadable) in str(caught.value)
