"""What check and plan rest on: a graph with its nodes found, its loops laid out and its ports resolved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, groupby

from engine.graph.expand import expand
from engine.graph.hooks import hook_problems
from engine.graph.loops import Forest, find_loops
from engine.graph.model import Edge, Graph, Node, PortResolver, Ports, Problem
from engine.graph.names import edge_name, near, near_nodesets, node_name
from engine.graph.pairs import find_pairs
from engine.graph.ports import Slot, find_port, loop_ports, loop_slots, required_inputs
from engine.graph.removed import REMOVED_TYPES, removed_problems

INERT = frozenset({"note", "stateContainer", "compositeNode"})
"""Drawing aids: no ports, and they never fire."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """``graph``: with its composites expanded. ``nodes``: by id; of those with one id the first. ``edges``:
    those that join nodes, by their place in the graph. ``ports``: of each node whose ports are known.
    ``wired``: the input handles of each node that an edge targets. ``slots``: of each sound loop, by the id
    of its ``iterIn``. ``forest``: None where the loops have no order. ``names``: what messages call the ids
    that came out of composites. ``problems``: what was found wrong on the way.
    """

    graph: Graph
    nodes: Mapping[str, Node]
    edges: Mapping[int, Edge]
    ports: Mapping[str, Ports]
    wired: Mapping[str, frozenset[str]]
    slots: Mapping[str, Mapping[str, Slot]]
    forest: Forest | None
    names: Mapping[str, str]
    problems: tuple[Problem, ...]

    def output_type(self, edge: Edge) -> str | None:
        """The type of what the edge carries; None where its source has no such output.

        ``default`` carries a node's whole output dict; an ``iterOut`` has nothing but its final side.
        """
        ports = self.ports.get(edge.source)
        whole = edge.source_handle == "default" and self.nodes[edge.source].type != "iterOut"
        if ports is None or whole:
            return "ANY"
        port = find_port(ports.outputs, edge.source_handle)
        return port.wire_type if port else ("ANY" if ports.open_outputs else None)

    def input_type(self, edge: Edge) -> str | None:
        """The type of what the edge's target takes there; None where it has no such input."""
        ports = self.ports.get(edge.target)
        if ports is None:
            return "ANY"
        port = find_port(ports.inputs, edge.target_handle)
        return port.wire_type if port else ("ANY" if ports.open_inputs else None)

    def entries(self) -> tuple[str, ...]:
        """The nodes that fire at the start: no incoming edge, no required input, and no end of a loop."""
        return tuple(
            node.id
            for node in self.nodes.values()
            if node.type not in ("iterIn", "iterOut", *INERT)
            and not self.wired[node.id]
            and not required_inputs(self.ports.get(node.id, Ports()))
        )


def analyse(graph: Graph, resolve: PortResolver, known_types: Iterable[str] = ()) -> Analysis:
    """``known_types`` are offered where a node's type is unknown."""
    expansion = expand(graph)
    graph = expansion.graph
    nodes: dict[str, Node] = {}
    for node in graph.nodes:
        nodes.setdefault(node.id, node)
    edges = {
        place: edge for place, edge in enumerate(graph.edges) if edge.source in nodes and edge.target in nodes
    }
    pairs, pair_problems = find_pairs(nodes)
    forest, loop_problems = find_loops(nodes, edges.values(), pairs)
    slots = {pair.iter_in: loop_slots(pair, edges.values()) for pair in pairs}
    ports, port_problems = _ports(nodes, resolve, known_types)
    for pair in pairs:
        ports |= loop_ports(pair, slots[pair.iter_in])
    wired: dict[str, set[str]] = {node_id: set() for node_id in nodes}
    for edge in edges.values():
        wired[edge.target].add(edge.target_handle)
    return Analysis(
        graph=graph,
        nodes=nodes,
        edges=edges,
        ports=ports,
        wired={node_id: frozenset(handles) for node_id, handles in wired.items()},
        slots=slots,
        forest=forest,
        names=expansion.names,
        problems=(
            *_duplicates(graph),
            *expansion.problems,
            *removed_problems(graph),
            *hook_problems(graph),
            *_dangling(graph, nodes),
            *pair_problems,
            *loop_problems,
            *port_problems,
        ),
    )


def _ports(
    nodes: Mapping[str, Node], resolve: PortResolver, known_types: Iterable[str]
) -> tuple[dict[str, Ports], list[Problem]]:
    """Of all nodes but the ends of loops, and those that are refused for what they are."""
    ports: dict[str, Ports] = {}
    problems = []
    for node in nodes.values():
        if node.type in ("iterIn", "iterOut", *REMOVED_TYPES):
            continue
        found = Ports() if node.type in INERT else _resolved(node, resolve, known_types)
        if isinstance(found, Ports):
            ports[node.id] = found
        else:
            problems.append(found)
    return ports, problems


def _duplicates(graph: Graph) -> Iterator[Problem]:
    ids = Counter(
        [
            *(("node", node.id) for node in graph.nodes),
            *(("edge", edge.id) for edge in graph.edges),
            *(("container", container.id) for container in graph.containers),
            *(("grant", grant.id) for grant in graph.grants),
        ]
    )
    for (what, name), count in ids.items():
        if count > 1:
            message = f"the id is used {count} times"
            yield Problem("duplicate-id", f"{what} {name!r}", message, "rename all but one")


def _dangling(graph: Graph, nodes: Mapping[str, Node]) -> Iterator[Problem]:
    for edge in graph.edges:
        for end, node_id in (("comes from", edge.source), ("goes to", edge.target)):
            if node_id not in nodes:
                message = f"{end} node {node_id!r}, which is not in the graph"
                yield Problem("unknown-node", edge_name(edge.id), message, near(node_id, nodes))


def _resolved(node: Node, resolve: PortResolver, known_types: Iterable[str]) -> Ports | Problem:
    where = node_name(node.id)
    try:
        ports = resolve(node)
    except ValueError as error:
        return Problem("bad-config", where, f"{node.type} does not take this config: {error}")
    if ports is not None:
        return ports
    nodeset, _, tool = node.type.partition("__")
    if not tool:
        message, remedy = f"there is no node type {node.type!r}", near(node.type, known_types)
    else:
        message = f"no nodeset provides the type {node.type!r}"
        by_nodeset = groupby(sorted(known_types), lambda known: known.partition("__")[0])
        provided = {name: list(types) for name, types in by_nodeset}
        siblings = provided.pop(nodeset, [])
        alike = siblings or chain.from_iterable(provided[name] for name in near_nodesets(nodeset, provided))
        remedy = near(node.type, alike)
        if siblings:
            remedy = remedy or f"{nodeset} provides {', '.join(siblings)}"
    return Problem(
        "unknown-node-type", where, message, remedy or "`evaltower nodesets` lists what is installed"
    )
