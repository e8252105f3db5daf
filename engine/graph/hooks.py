"""The hooks of a graph: its own, and those that nodes have in ``config.hooks`` for themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from engine.graph.model import Graph, Hook, Problem
from engine.graph.names import misspelt, near_or_all
from engine.graph.read import node_hooks

EVENTS = ("GraphStart", "GraphComplete", "GraphError", "PreNodeExecute", "PostNodeExecute")
HOOK_KEYS = ("event", "command", "match_node_type", "match_node_id", "timeout_ms", "enabled")


def enabled_hooks(graph: Graph) -> list[Hook]:
    """In the order in which they are asked: the graph's, then the nodes'. ``graph`` has no composites."""
    return [hook for hook in (*graph.hooks, *_of_nodes(graph)) if hook.enabled]


def hook_problems(graph: Graph) -> Iterator[Problem]:
    """Hooks that cannot be read, and, as warnings, those that no event would ever run."""
    for node in graph.nodes:
        yield from node_hooks(node)[1]
    yield from hook_warnings(enabled_hooks(graph))


def hook_warnings(hooks: Iterable[Hook]) -> Iterator[Problem]:
    """Hooks that no event would ever run, and keys that look mistyped: without its ``match_node_id`` a hook
    runs at every node."""
    for hook in hooks:
        yield from misspelt(f"hook on {hook.event!r}", "", hook.extra, HOOK_KEYS)
        if hook.event not in EVENTS:
            message = f"the command {hook.command!r} is for an event that there is not"
            where, remedy = f"hook on {hook.event!r}", near_or_all(hook.event, EVENTS, "there are")
            yield Problem("unknown-event", where, message, remedy, severity="warning")


def _of_nodes(graph: Graph) -> Iterator[Hook]:
    for node in graph.nodes:
        for hook in node_hooks(node)[0]:
            yield replace(hook, match_node_type=node.type, match_node_id=node.id)
