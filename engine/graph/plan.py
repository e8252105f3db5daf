"""What the executor runs on: everything about a graph that can be known before it runs, derived once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.graph.model import Edge, Graph, Node, Port, Ports


@dataclass(frozen=True, slots=True)
class Target:
    """Where an output goes. ``edge_order`` is the edge's index in the graph: a ``LIST[T]`` input gathers by it.

    ``wrap``: the consumer's input is ``LIST[T]`` and the source's port is not a list.
    """

    node_id: str
    handle: str
    edge_id: str
    edge_order: int
    wrap: bool = False


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node with its ports resolved and its edges looked up.

    ``required``: inputs that must have arrived before it fires; empty means that it fires when any arrives.
    ``wired``: input handles that at least one edge targets. ``list_inputs``: the ``LIST[T]`` ones among its inputs.
    ``out``: targets by source handle, in edge order. ``loop``: the innermost loop that it belongs to, by the id
    of its ``iterIn``; an ``iterIn`` and an ``iterOut`` belong to their own loop. ``within``: the loops that make
    it fire each iteration, outermost first: those around it, and for a side branch those that feed it.
    ``grants``: container ids. ``is_sink``: it has no outgoing edge.
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
class Slot:
    """A place of an ``iterIn`` that holds a value; one that does not persist is emptied after each firing."""

    name: str
    wire_type: str = "ANY"
    persist: bool = False


@dataclass(frozen=True, slots=True)
class LoopPort:
    """One declared port of a loop: an init port of its ``iterIn``, or a carried port of its ``iterOut``."""

    name: str
    wire_type: str = "ANY"
    required: bool = True
    persist: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """A pair of ``iterIn`` and ``iterOut``.

    ``body``: the nodes whose innermost loop this is, both ends included. ``slots`` by name, in order: init
    slots, carried slots, then any other handle that an edge targets. ``step_budget``: the loop's own, or None
    where it takes its parent's (a root loop: the episode's). ``final_edges``: the edges out of ``iter_out``.
    """

    iter_in: str
    iter_out: str
    parent: str | None
    children: tuple[str, ...]
    body: frozenset[str]
    slots: Mapping[str, Slot]
    init_ports: tuple[LoopPort, ...]
    loop_ports: tuple[LoopPort, ...]
    step_budget: int | None
    final_edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A graph, ready to run.

    ``order``: every node but notes, sources first (ties and cycles in file order). ``entries``: nodes that fire
    without input, in file order. ``root_loops``: in the order in which they run. ``after_band``: the nodes
    downstream of the last root loop's final side, held until it ends.
    """

    graph: Graph
    nodes: Mapping[str, PlannedNode]
    order: tuple[str, ...]
    entries: tuple[str, ...]
    loops: Mapping[str, Loop]
    root_loops: tuple[str, ...]
    after_band: frozenset[str]

    def budget(self, loop: str, episode_budget: int) -> int:
        """Steps that ``loop`` may take: a root loop has the episode's, an inner one its own, else its parent's."""
        found = self.loops[loop]
        if found.parent is None:
            return episode_budget
        if found.step_budget is not None:
            return found.step_budget
        return self.budget(found.parent, episode_budget)


def firing_cap(plan: Plan, budget: int) -> int:
    """Firings allowed in one episode: over the nodes, 3 × the product of the budgets of the loops around them."""
    total = 0
    for node in plan.nodes.values():
        firings = 3
        for loop in node.within:
            firings *= plan.budget(loop, budget)
        total += firings
    return total


__all__ = ["Loop", "LoopPort", "Plan", "PlannedNode", "Port", "Slot", "Target", "firing_cap"]
