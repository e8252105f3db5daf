"""Where the loops of a graph lie: bodies, nesting, what they feed, and what comes after them.

The edges decide (contract graph-json.md, "Loops"). The two ends of a loop are joined by no edge; here
each ``iterIn`` leads to its ``iterOut``, so that a loop inside another is one step of the outer one's
body, and that to what a composite puts out when its loop has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.graph.model import Edge, Node, Problem
from engine.graph.names import node_name
from engine.graph.pairs import Pair
from engine.graph.reach import Successors, dataflow_order, reach, reverse

Bodies = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Forest:
    """The loops of a graph, each by the id of its ``iterIn``.

    ``order``: every node, sources first. ``around``: each loop with those around it, outermost first.
    ``roots``: the loops inside no other, in the order in which they run. ``bodies``: what lies downstream
    of a loop's ``iterIn`` and upstream of its ``iterOut``, ends and inner loops included. ``innermost``:
    the loop that a node belongs to. ``held``: the ``graphOut`` nodes that pass on their last value when
    the loop ends. ``region``: all that a loop's iterations fire, side branches included. ``after``: what is
    downstream of its final side.
    """

    pairs: Mapping[str, Pair]
    order: tuple[str, ...]
    roots: tuple[str, ...]
    around: Mapping[str, tuple[str, ...]]
    bodies: Bodies
    innermost: Mapping[str, str]
    held: Mapping[str, tuple[str, ...]]
    region: Mapping[str, frozenset[str]]
    after: Mapping[str, frozenset[str]]

    def inside(self, node: str, loop: str) -> bool:
        """Whether the node fires while the loop goes on, and not for what comes out of its end."""
        held = (node for outer in self.around[loop] for node in self.held[outer])
        exits = (self.pairs[loop].iter_out, *held)
        return node in self.region[loop] and node not in self.after[loop] and node not in exits

    def band(self) -> frozenset[str]:
        """The after-loop band: downstream of the last root loop's final side."""
        return self.after[self.roots[-1]] if self.roots else frozenset()


def find_loops(
    nodes: Mapping[str, Node], edges: Iterable[Edge], pairs: Iterable[Pair]
) -> tuple[Forest | None, list[Problem]]:
    """The forest of sound pairs; None, and why, where loops overlap or the end of one leads back into it.

    ``edges`` join nodes that are in ``nodes``.
    """
    loops = {pair.iter_in: pair for pair in pairs}
    successors: dict[str, list[str]] = {node: [] for node in nodes}
    for edge in edges:
        successors[edge.source].append(edge.target)
    for pair in loops.values():
        successors[pair.iter_in].append(pair.iter_out)
    keepers = _keepers(nodes, loops, successors)
    for gate, keeper in keepers.items():
        successors[loops[keeper].iter_out].append(gate)

    order = dataflow_order(successors)
    own = _bodies(loops, successors)
    around, problems = _nest(own, order)
    if problems:
        return None, problems
    innermost = {node: _innermost(node, own)[0] for node in order if _holders(node, own)}
    bodies = {
        loop: frozenset().union(*(own[inner] for inner in loops if loop in around[inner])) for loop in loops
    }
    passing = [node for node in order if nodes[node].type == "graphOut" and successors[node]]
    passing = [gate for gate in passing if gate not in keepers]
    region, held = _regions(loops, around, successors, passing, keepers)
    innermost |= {node: loop for loop, kept in held.items() for node in kept}
    after = {
        loop: reach(
            (target for end in (pair.iter_out, *held[loop]) for target in successors[end]), successors
        ).difference(held[loop])
        for loop, pair in loops.items()
    }
    roots = [loop for loop in order if around.get(loop) == (loop,)]
    before = {root: sum(1 for other in roots if bodies[root] & after[other]) for root in roots}
    roots.sort(key=lambda root: before[root])
    forest = Forest(loops, order, tuple(roots), around, bodies, innermost, held, region, after)
    problems = _lead_back(forest)
    return (None if problems else forest), problems


def _bodies(loops: Mapping[str, Pair], successors: Successors) -> dict[str, frozenset[str]]:
    predecessors = reverse(successors)
    return {
        loop: reach([loop], successors, [pair.iter_out]) & reach([pair.iter_out], predecessors, [loop])
        for loop, pair in loops.items()
    }


def _holders(node: str, bodies: Bodies) -> list[str]:
    return [loop for loop, body in bodies.items() if node in body]


def _innermost(node: str, bodies: Bodies, apart_from: str = "") -> list[str]:
    """The loops around ``node`` that lie inside all others around it: one, unless loops overlap."""
    holders = [loop for loop in _holders(node, bodies) if loop != apart_from]
    return [loop for loop in holders if all(loop in bodies[other] for other in holders)]


def _nest(bodies: Bodies, order: Iterable[str]) -> tuple[dict[str, tuple[str, ...]], list[Problem]]:
    """Each loop with the loops around it, outermost first; or which of them overlap, and where."""
    overlapping: dict[tuple[str, ...], str] = {}
    for node in order:
        holders = _holders(node, bodies)
        if holders and len(_innermost(node, bodies)) != 1:
            overlapping.setdefault(tuple(sorted(holders)), node)
    around: dict[str, tuple[str, ...]] = {}
    for loop in bodies:
        chain = [loop]
        while parents := _innermost(chain[0], bodies, apart_from=chain[0]):
            if parents[0] in chain:
                overlapping.setdefault(tuple(sorted(chain)), loop)
                break
            chain.insert(0, parents[0])
        around[loop] = tuple(chain)
    return around, [_overlap(node, loops) for loops, node in overlapping.items()]


def _keepers(nodes: Mapping[str, Node], loops: Mapping[str, Pair], successors: Successors) -> dict[str, str]:
    """The loop that each ``graphOut`` of a composite waits for.

    Of the composite's own loops, inside no other of them, the last that leads to it; else the last.
    """
    bodies = _bodies(loops, successors)
    keepers: dict[str, str] = {}
    for gate in nodes.values():
        if gate.type != "graphOut" or not gate.path:
            continue
        own = [loop for loop in loops if nodes[loop].path[:-1] == gate.path[:-1]]
        own = [loop for loop in own if not any(loop in bodies[other] for other in own if other != loop)]
        leading = [loop for loop in own if gate.id in reach([loop], successors)] or own
        if leading:
            keepers[gate.id] = max(leading, key=dataflow_order(successors).index)
    return keepers


def _regions(
    loops: Mapping[str, Pair],
    around: Mapping[str, tuple[str, ...]],
    successors: Successors,
    passing: Sequence[str],
    keepers: Mapping[str, str],
) -> tuple[dict[str, frozenset[str]], dict[str, tuple[str, ...]]]:
    """What each loop's iterations fire, and which ``graphOut`` nodes it holds.

    A composite's are held as ``keepers`` say. Of those that ``passing`` names, which pass values on, the
    innermost loop holds what it reaches; a root loop none.
    """
    region: dict[str, frozenset[str]] = {}
    held: dict[str, tuple[str, ...]] = {}
    free = list(passing)
    for loop in sorted(loops, key=lambda one: -len(around[one])):
        gates = free if len(around[loop]) > 1 else []
        ends = [loops[one].iter_out for one in around[loop]]
        kept = [gate for gate, keeper in keepers.items() if keeper in around[loop]]
        reached = reach([loop], successors, [*ends, *gates, *kept])
        taken = [gate for gate in gates if gate in reached or gate in successors[ends[-1]]]
        held[loop] = (*taken, *(gate for gate in kept if keepers[gate] == loop))
        region[loop] = reached.union(held[loop])
        free = [gate for gate in free if gate not in taken]
    return region, held


def _overlap(node: str, loops: Iterable[str]) -> Problem:
    return Problem(
        "loops-overlap",
        node_name(node),
        f"lies in the loops of {' and '.join(map(repr, loops))}, and neither is inside the other",
        "let the inner loop's iterIn be fed by the outer one, and only its iterOut feed the outer one",
    )


def _lead_back(forest: Forest) -> list[Problem]:
    """What comes after a loop may not lead into it: a loop goes on by what its ``iterOut`` carries."""
    problems = []
    for loop, pair in forest.pairs.items():
        entered = next(
            (node for node in forest.order if node in forest.bodies[loop] & forest.after[loop]), None
        )
        if entered is not None:
            problems.append(
                Problem(
                    "final-leads-back",
                    node_name(pair.iter_out),
                    f"what follows the end of this loop leads back into it, to {entered!r}",
                    "carry the value in the iterOut's ports, and take it from the iterIn's iterout_ slot",
                )
            )
    return problems
