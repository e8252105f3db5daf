"""Graphs in a few lines: nodes by id, edges as ``source.handle > target.handle``, ports by node type.

A node is its type, its type and config, or, of a composite, the graph inside it.
"""

from __future__ import annotations

from typing import Any

from engine.graph.check import check_graph
from engine.graph.model import Edge, Graph, Node, Port, PortResolver, Ports, Problem

Config = dict[str, Any]

TYPES: dict[str, Ports] = {
    "env__reset": Ports(
        (Port("trigger", optional=True),), (Port("obs", "IMAGE"), Port("instruction", "TEXT"))
    ),
    "env__step": Ports((Port("action", "ACTION"),), (Port("obs", "IMAGE"), Port("done", "BOOL"))),
    "env__evaluate": Ports((Port("trigger"),), (Port("metrics", "METRICS"), Port("success", "BOOL"))),
    "policy__act": Ports(
        (Port("obs", "IMAGE"), Port("instruction", "TEXT", optional=True)),
        (Port("action", "DISCRETE_ACTION"), Port("views", "LIST[IMAGE]")),
    ),
    "tool__pass": Ports((Port("value", optional=True),), (Port("value"),)),
    "tool__gather": Ports((Port("images", "LIST[IMAGE]", optional=True),), (Port("count"),)),
    "tool__any": Ports(open_inputs=True, open_outputs=True),
    "graphIn": Ports((), (Port("value"),)),
    "graphOut": Ports((Port("value", optional=True),), (Port("value"),)),
    "textViewer": Ports((Port("text", "TEXT", optional=True),)),
    "viewer": Ports((Port("text", "TEXT", optional=True),), open_inputs=True),
}


def resolve(node: Node) -> Ports | None:
    if "refused" in node.config:
        raise ValueError("the key 'refused' is taken")
    return TYPES.get(node.type)


Drawn = str | tuple[str, Config] | Graph


def draw(nodes: dict[str, Drawn], *edges: str, **keys: Any) -> Graph:
    """Not an evaluation graph, as most tests need none; ``keys`` are fields of the graph."""
    return Graph(
        name="drawn",
        nodes=tuple(_node(node_id, drawn) for node_id, drawn in nodes.items()),
        edges=tuple(_edge(index, text) for index, text in enumerate(edges)),
        **{"eval_graph": False, **keys},
    )


def port_in(name: str, wire_type: str = "ANY") -> tuple[str, Config]:
    """A composite's input."""
    return "graphIn", {"portName": name, "wireType": wire_type}


def port_out(name: str, wire_type: str = "ANY") -> tuple[str, Config]:
    """A composite's output."""
    return "graphOut", {"portName": name, "wireType": wire_type}


def _node(node_id: str, drawn: Drawn) -> Node:
    if isinstance(drawn, Graph):
        return Node(node_id, "compositeNode", subgraph=drawn)
    node_type, config = (drawn, {}) if isinstance(drawn, str) else drawn
    return Node(node_id, node_type, config=config)


def _edge(index: int, text: str) -> Edge:
    (source, source_handle), (target, target_handle) = (end.strip().split(".") for end in text.split(">"))
    return Edge(f"e{index}", source, target, source_handle, target_handle)


def loop(name: str, *carried: str, init: tuple[str, ...] = (), budget: int | None = None) -> dict[str, Any]:
    """The ends ``<name>_in`` and ``<name>_out`` of a loop; names are ports of type ANY, not required."""
    config: Config = {"pairedWith": f"{name}_out", "initPorts": [{"name": port} for port in init]}
    if budget is not None:
        config["step_budget"] = budget
    ports = [{"name": port} for port in carried or ("x",)]
    return {
        f"{name}_in": ("iterIn", config),
        f"{name}_out": ("iterOut", {"pairedWith": f"{name}_in", "ports": ports}),
    }


EPISODE = (
    "reset.obs > walk_in.init_obs",
    "walk_in.init_obs > act.obs",
    "walk_in.iterout_obs > act.obs",
    "act.action > step.action",
    "step.obs > walk_out.obs",
    "step.done > walk_out.stop",
    "walk_out.final_stop > judge.trigger",
    "judge.metrics > verdict.value",
)


def episode(*edges: str, without: tuple[str, ...] = (), **more: Drawn) -> Graph:
    """An evaluation graph: reset, a loop of policy and environment, a verdict. ``more``: further nodes."""
    nodes: dict[str, Drawn] = {
        "reset": "env__reset",
        **loop("walk", "obs", init=("obs",)),
        "act": "policy__act",
        "step": "env__step",
        "judge": "env__evaluate",
        "verdict": ("graphOut", {"portName": "metrics"}),
        **more,
    }
    return draw(nodes, *(edge for edge in EPISODE if edge not in without), *edges, eval_graph=True)


def check(graph: Graph, resolver: PortResolver = resolve) -> list[Problem]:
    return check_graph(graph, resolver, TYPES)


def errors(graph: Graph) -> list[tuple[str, str]]:
    """(code, where) of each error."""
    return [(found.code, found.where) for found in check(graph) if found.severity == "error"]


def warnings(graph: Graph) -> list[tuple[str, str]]:
    return [(found.code, found.where) for found in check(graph) if found.severity == "warning"]
