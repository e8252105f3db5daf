"""Nodesets made up for a saved graph: its own node types, with the ports that its edges use."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.components.bases import BaseCanvasNode
from engine.components.builtin_ports import resolve_builtin
from engine.components.catalog import nodeset_of
from engine.graph.analysis import Analysis, analyse
from engine.graph.model import Edge, Graph, Node, Port, PortResolver, Ports
from engine.graph.plan import Plan, plan_graph
from engine.graph.wiretypes import item_type

TEMPLATE = Path(__file__).with_name("stub_nodeset.py")
VERDICTS = ("done", "stop", "success", "terminated", "truncated", "finished")
"""Outputs that are true or false whatever their wires say."""


def write_stubs(graph: Graph, folder: Path) -> dict[str, Path]:
    """One file a nodeset of the graph, by its name."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, tools in _nodesets(graph).items():
        files[name] = folder / f"{name}.py"
        source = TEMPLATE.read_text().replace('NAME = "stub"', f"NAME = {name!r}")
        files[name].write_text(source.replace('r"""{}"""', f'r"""{json.dumps(tools)}"""'))
    return files


def load_stubs(files: dict[str, Path]) -> dict[str, BaseCanvasNode]:
    """The tools of written stubs by node type, in this process: one to copy for each node."""
    nodesets = [runpy.run_path(str(path))["StubNodeSet"]() for path in files.values()]
    return {tool.node_type: tool for nodeset in nodesets for tool in nodeset.get_tools()}


def resolver(tools: dict[str, BaseCanvasNode]) -> PortResolver:
    """Ports of built-in nodes and of these tools."""

    def resolve(node: Node) -> Ports | None:
        tool = tools.get(node.type)
        if tool is None:
            return resolve_builtin(node)
        return Ports(
            tuple(Port(port.name, port.wire_type, port.optional) for port in tool.input_ports),
            tuple(Port(port.name, port.wire_type) for port in tool.output_ports),
        )

    return resolve


def resolve_openly(node: Node) -> Ports | None:
    """Built-in nodes as they are; a nodeset's take and give anything."""
    if "__" in node.type:
        return Ports(open_inputs=True, open_outputs=True)
    return resolve_builtin(node)


def _nodesets(graph: Graph) -> dict[str, dict[str, Any]]:
    """Tools by nodeset and node type: ``{inputs: [[name, type, required]], outputs: [[name, type]]}``."""
    plan, analysis = plan_graph(graph, resolve_openly), analyse(graph, resolve_openly)
    tools: dict[str, list[Node]] = {}
    for node in plan.graph.nodes:
        if "__" in node.type:
            tools.setdefault(node.type, []).append(node)
    found: dict[str, dict[str, Any]] = {}
    for node_type, nodes in tools.items():
        ports = {"inputs": list(_inputs(nodes, plan, analysis)), "outputs": list(_outputs(nodes, analysis))}
        found.setdefault(nodeset_of(node_type), {})[node_type] = ports
    return found


def _inputs(nodes: list[Node], plan: Plan, analysis: Analysis) -> Iterator[tuple[str, str, bool]]:
    edges = [edge for edge in analysis.edges.values() if edge.target in {node.id for node in nodes}]
    for name in dict.fromkeys(edge.target_handle for edge in edges):
        needed = all(_comes_each_time(node.id, name, plan, analysis) for node in nodes)
        yield name, "ANY", needed


def _comes_each_time(node: str, handle: str, plan: Plan, analysis: Analysis) -> bool:
    """Whether each iteration of the loop around the node brings a value: then its author would require it."""
    place, around = (node, handle), plan.nodes[node].within
    sources = [edge for edge in analysis.edges.values() if (edge.target, edge.target_handle) == place]
    if not around:
        return bool(sources)
    given = [_when(edge, around[-1], plan) for edge in sources]
    return any(first for first, _ in given) and any(later for _, later in given)


def _when(edge: Edge, loop: str, plan: Plan) -> tuple[bool, bool]:
    """Whether the edge brings a value in the first iteration of the loop, and in the later ones."""
    if edge.source != loop:
        inside = loop in plan.nodes[edge.source].within
        return True, inside
    slot = plan.loops[loop].slots.get(edge.source_handle)
    if slot is None:  # the step
        return True, True
    carried = slot.name.startswith("iterout_")
    return not carried, carried or slot.persist


def _outputs(nodes: list[Node], analysis: Analysis) -> Iterator[tuple[str, str]]:
    edges = [edge for edge in analysis.edges.values() if edge.source in {node.id for node in nodes}]
    for name in dict.fromkeys(edge.source_handle for edge in edges):
        yield name, _output_type(name, [edge for edge in edges if edge.source_handle == name], analysis)


def _output_type(name: str, edges: list[Edge], analysis: Analysis) -> str:
    if name in VERDICTS or any(edge.target_handle == "stop" for edge in edges):
        return "BOOL"
    wanted = {item_type(analysis.input_type(edge) or "ANY") for edge in edges} - {"ANY"}
    return wanted.pop() if len(wanted) == 1 else "METRICS" if name == "metrics" else "ANY"
