"""A graph as a reader follows it: its nodes in dataflow order, their wires, the loops around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from engine.components.builtin_ports import resolve_builtin
from engine.graph.analysis import INERT, Analysis, analyse
from engine.graph.model import Edge, GraphError, Node, Ports
from engine.graph.read import dump_graph, parse_graph


class OutlineWire(msgspec.Struct, kw_only=True, frozen=True):
    """From a node's output to a node's input. wire_type: "" where neither end says one."""

    source: str
    output: str
    target: str
    input: str
    wire_type: str = ""


class OutlineNode(msgspec.Struct, kw_only=True, frozen=True):
    """shown: its name, after those of the composites around it. loops: those around it, by the id of their
    ``iterIn``, outermost first."""

    id: str
    shown: str
    type: str
    label: str
    config: dict[str, Any]
    loops: tuple[str, ...] = ()
    takes: tuple[OutlineWire, ...] = ()
    gives: tuple[OutlineWire, ...] = ()


class Outline(msgspec.Struct, kw_only=True, frozen=True):
    """nodes: composites expanded, without drawing aids. loops: each ``iterIn`` and its ``iterOut``.
    notes: texts of the notes in it. unordered: loops that overlap leave no order but the file's."""

    name: str
    description: str
    step_budget: int | None
    nodes: tuple[OutlineNode, ...]
    loops: dict[str, str]
    notes: tuple[str, ...]
    unordered: bool = False


def outline(graph: Mapping[str, Any]) -> Outline:
    """Of any graph that can be read, however wrong it is. Raises GraphError for one that cannot."""
    read = parse_graph(graph)
    found = analyse(read, _ports)
    order = found.forest.order if found.forest is not None else tuple(found.nodes)
    wires: dict[str, tuple[list[OutlineWire], list[OutlineWire]]] = {name: ([], []) for name in found.nodes}
    for edge in found.edges.values():
        wire = _wire(found, edge)
        wires[edge.target][0].append(wire)
        wires[edge.source][1].append(wire)
    return Outline(
        name=read.name,
        description=read.description,
        step_budget=read.step_budget,
        nodes=tuple(
            _node(found, found.nodes[name], *wires[name])
            for name in order
            if found.nodes[name].type not in INERT
        ),
        loops={pair.iter_in: pair.iter_out for pair in found.forest.pairs.values()} if found.forest else {},
        notes=tuple(
            str(node.config["text"]) for node in read.nodes if node.type == "note" and "text" in node.config
        ),
        unordered=found.forest is None,
    )


def same_graph(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Whether both say the same, whatever each leaves to its defaults."""
    try:
        return dump_graph(parse_graph(left)) == dump_graph(parse_graph(right))
    except GraphError:
        return False


def _ports(node: Node) -> Ports:
    """Without a look at any nodeset: what a node of one takes and gives is open."""
    try:
        known = resolve_builtin(node)
    except ValueError:
        known = None
    return known or Ports(open_inputs=True, open_outputs=True)


def _wire(found: Analysis, edge: Edge) -> OutlineWire:
    types = [found.output_type(edge) or "ANY", found.input_type(edge) or "ANY"]
    return OutlineWire(
        source=edge.source,
        output=edge.source_handle,
        target=edge.target,
        input=edge.target_handle,
        wire_type=next((kind for kind in types if kind != "ANY"), ""),
    )


def _node(found: Analysis, node: Node, takes: list[OutlineWire], gives: list[OutlineWire]) -> OutlineNode:
    forest = found.forest
    loop = forest.innermost.get(node.id) if forest else None
    return OutlineNode(
        id=node.id,
        shown=node.shown,
        type=node.type,
        label=node.label,
        config=dict(node.config),
        loops=forest.around[loop] if forest and loop else (),
        takes=tuple(takes),
        gives=tuple(gives),
    )
