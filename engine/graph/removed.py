"""What older files of the format have and ours no longer take: refused, with what replaced it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.graph.model import Graph, Problem
from engine.graph.names import node_name

_INIT = (
    "declare the values in the iterIn's config.initPorts, and wire their sources into its init_<name> inputs"
)
_STOP = "wire the signal that ends the loop into the iterOut's input 'stop'"

REMOVED_TYPES = {"initialize": _INIT, "termination": _STOP}
_REMOVED_KEYS = {
    "init_ports": "an iterIn's own ports are config.initPorts",
    "loop_ports": "what a loop carries is in its iterOut's config.ports",
    "initialize": _INIT,
    "termination": _STOP,
}


def removed_problems(graph: Graph) -> Iterator[Problem]:
    for node in graph.nodes:
        where = node_name(node.id)
        if node.type in REMOVED_TYPES:
            message = f"the node type {node.type!r} was removed"
            yield Problem("removed", where, message, REMOVED_TYPES[node.type])
        if node.type not in ("iterIn", "iterOut"):
            continue
        for key, replacement in _REMOVED_KEYS.items():
            if key in node.config:
                yield Problem("removed", where, f"config.{key} was removed", replacement)
    if "maxIterations" in graph.extra:
        message = "maxIterations is the old name of step_budget"
        yield Problem("old-name", "graph", message, "rename it", severity="warning")
