"""What the executor runs on: everything about a graph that can be known before it runs, derived once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.graph.analysis import INERT, Analysis, analyse
from engine.graph.check import problems_of
from engine.graph.loops import Forest
from engine.graph.model import Edge, Graph, GraphError, Node, PortResolver, Ports
from engine.graph.pairs import LoopPort
from engine.graph.ports import Slot, required_inputs
from engine.graph.wiretypes import is_list


@dataclass(frozen=True, slots=True)
class Target:
    """Where an output goes. ``edge_order``: the edge's place in the file; a ``LIST[T]`` input gathers by it.

    ``wrap``: the input is a ``LIST[T]`` and the output a ``T``, so that the value is one item of the
    list.
    """

    node_id: str
    handle: str
    edge_id: str
    edge_order: int
    wrap: bool = False


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node with its ports resolved and its edges looked up.

    ``required``: inputs that must have arrived before it fires; empty means that it fires when any
    arrives. ``wired``: input handles that an edge targets. ``list_inputs``: those that gather their
    fan-in in a list; an ``iterIn`` has none, since its slots are overwritten. ``out``: targets by source
    handle, in file order. ``loop``: the innermost loop that it belongs to, by the id of its ``iterIn``;
    the two ends belong to their own loop, side branches and viewers to none. ``within``: the loops whose
    iterations fire it, outermost first, side branches included. ``grants``: ids of containers of the graph
    (its own, a nodeset has at hand). ``is_sink``: no edge leaves it.
    """

    node: Node
    ports: Ports
    required: frozenset[str] = frozenset()
    wired: frozenset[str] = frozenset()
    list_inputs: frozenset[str] = frozenset()
    out: Mapping[str, tuple[Target, ...]] = field(default_factory=dict)
    loop: str | None = None
    within: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    is_sink: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """A pair of ``iterIn`` and ``iterOut``.

    ``body``: the nodes whose innermost loop this is, both ends included. ``slots`` by name: the init
    slots, the carried ones, then any other handle that an edge targets. ``init_handles``: the slots that
    edges from outside the loop fill; iteration 0 waits for them. Edges from inside only write their slot.
    ``held``: ``graphOut`` nodes that keep their last value, and pass it on once, when this loop ends; of a
    root loop, those of its composite. ``step_budget``: the loop's own; None for a root loop, which has the
    episode's, and for one that takes its parent's. ``final_edges``: those that leave ``iter_out``;
    ``after``: all that is downstream of them.
    """

    iter_in: str
    iter_out: str
    parent: str | None
    children: tuple[str, ...]
    body: frozenset[str]
    slots: Mapping[str, Slot]
    init_handles: frozenset[str]
    init_ports: tuple[LoopPort, ...]
    loop_ports: tuple[LoopPort, ...]
    held: tuple[str, ...]
    step_budget: int | None
    final_edges: tuple[Edge, ...]
    after: frozenset[str]


@dataclass(frozen=True, slots=True)
class Plan:
    """A graph, its composites expanded, ready to run. Drawing aids (notes and the like) are not in it.

    ``order``: every node, sources first; an edge that closes a cycle goes back. ``entries``: the nodes
    that fire at the start, in file order. ``root_loops``: in the order in which they run; the last one's
    end gives the verdict. ``after_band``: what lies downstream of that end, held until then.
    """

    graph: Graph
    nodes: Mapping[str, PlannedNode]
    order: tuple[str, ...]
    entries: tuple[str, ...]
    loops: Mapping[str, Loop]
    root_loops: tuple[str, ...]
    after_band: frozenset[str]

    def budget(self, loop: str, episode_budget: int) -> int:
        """Steps that a loop may take: a root loop the episode's, an inner one its own, else its parent's."""
        found = self.loops[loop]
        while found.step_budget is None and found.parent is not None:
            found = self.loops[found.parent]
        return episode_budget if found.step_budget is None else found.step_budget


def plan_graph(graph: Graph, resolve: PortResolver) -> Plan:
    """Raises GraphError with all errors that ``check_graph`` finds."""
    analysis = analyse(graph, resolve)
    errors = [problem for problem in problems_of(analysis) if problem.severity == "error"]
    forest = analysis.forest
    if errors or forest is None:
        raise GraphError(errors, graph.name)
    targets = _targets(analysis)
    nodes = {
        node.id: _planned(node, targets[node.id], analysis, forest)
        for node in analysis.nodes.values()
        if node.type not in INERT
    }
    return Plan(
        graph=analysis.graph,
        nodes=nodes,
        order=tuple(node for node in forest.order if node in nodes),
        entries=analysis.entries(),
        loops={loop: _loop(loop, analysis, forest) for loop in forest.order if loop in forest.pairs},
        root_loops=forest.roots,
        after_band=forest.band(),
    )


def firing_cap(plan: Plan, budget: int) -> int:
    """Firings allowed in an episode of ``budget`` steps: 3 × the budgets of the loops around each node."""
    total = 0
    for node in plan.nodes.values():
        firings = 3
        for loop in node.within:
            firings *= plan.budget(loop, budget)
        total += firings
    return total


def _targets(analysis: Analysis) -> dict[str, dict[str, tuple[Target, ...]]]:
    """By source node, then by source handle."""
    found: dict[str, dict[str, tuple[Target, ...]]] = {node: {} for node in analysis.nodes}
    for place, edge in analysis.edges.items():
        gives, takes = analysis.output_type(edge) or "ANY", analysis.input_type(edge) or "ANY"
        wrap = is_list(takes) and gives != "ANY" and not is_list(gives)
        target = Target(edge.target, edge.target_handle, edge.id, place, wrap)
        out = found[edge.source]
        out[edge.source_handle] = (*out.get(edge.source_handle, ()), target)
    return found


def _planned(
    node: Node, out: Mapping[str, tuple[Target, ...]], analysis: Analysis, forest: Forest
) -> PlannedNode:
    ports = analysis.ports[node.id]
    lists = frozenset(port.name for port in ports.inputs if is_list(port.wire_type))
    within = [loop for loop in forest.pairs if node.id in forest.region[loop]]
    granted = [grant.container_id for grant in analysis.graph.grants if grant.node_id == node.id]
    declared = {container.id for container in analysis.graph.containers}
    return PlannedNode(
        node=node,
        ports=ports,
        required=required_inputs(ports),
        wired=analysis.wired[node.id],
        list_inputs=frozenset() if node.type == "iterIn" else lists,
        out=out,
        loop=forest.innermost.get(node.id),
        within=tuple(sorted(within, key=lambda loop: len(forest.around[loop]))),
        grants=tuple(container for container in granted if container in declared),
        is_sink=not out,
    )


def _loop(loop: str, analysis: Analysis, forest: Forest) -> Loop:
    pair = forest.pairs[loop]
    around = forest.around[loop]
    into = [edge for edge in analysis.edges.values() if edge.target == loop]
    return Loop(
        iter_in=loop,
        iter_out=pair.iter_out,
        parent=around[-2] if len(around) > 1 else None,
        children=tuple(one for one in forest.order if forest.around.get(one, ())[:-1] == around),
        body=frozenset(node for node, inner in forest.innermost.items() if inner == loop),
        slots=analysis.slots[loop],
        init_handles=frozenset(edge.target_handle for edge in into if edge.source not in forest.region[loop]),
        init_ports=pair.init_ports,
        loop_ports=pair.loop_ports,
        held=forest.held[loop],
        step_budget=pair.step_budget if len(around) > 1 else None,
        final_edges=tuple(edge for edge in analysis.edges.values() if edge.source == pair.iter_out),
        after=forest.after[loop],
    )
