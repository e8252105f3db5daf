"""What lies downstream of what. Pure graph walks over successor lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

Successors = Mapping[str, Sequence[str]]


def reach(starts: Iterable[str], successors: Successors, stops: Collection[str] = ()) -> frozenset[str]:
    """All that is downstream of ``starts``, these included; the walk enters ``stops`` and goes no further."""
    found = set(starts)
    stack = list(found)
    while stack:
        node = stack.pop()
        if node in stops:
            continue
        for successor in successors[node]:
            if successor not in found:
                found.add(successor)
                stack.append(successor)
    return frozenset(found)


def reverse(successors: Successors) -> dict[str, list[str]]:
    predecessors: dict[str, list[str]] = {node: [] for node in successors}
    for node, targets in successors.items():
        for target in targets:
            predecessors[target].append(node)
    return predecessors


def dataflow_order(successors: Successors) -> tuple[str, ...]:
    """Sources first: each edge goes forward, but for those that close a cycle. Ties in the order of the keys.

    Reverse postorder of a depth-first walk, which is a topological order where there is no cycle.
    """
    finished: list[str] = []
    seen: set[str] = set()
    for root in reversed(list(successors)):
        if root in seen:
            continue
        seen.add(root)
        path = [(root, reversed(successors[root]))]
        while path:
            node, remaining = path[-1]
            following = next((one for one in remaining if one not in seen), None)
            if following is None:
                path.pop()
                finished.append(node)
            else:
                seen.add(following)
                path.append((following, reversed(successors[following])))
    return tuple(reversed(finished))
