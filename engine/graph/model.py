"""A saved graph as data. Pure: reads nothing, knows no node type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    """``extra`` holds unknown keys (``position`` among them), kept and written back.

    ``subgraph`` makes it a composite. ``path``: of a node that came out of one, the ids of the composites
    around it, outermost first, and its own there.
    """

    id: str
    type: str
    label: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    subgraph: Graph | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    path: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """What messages call it."""
        return " > ".join(self.path) or self.id


@dataclass(frozen=True, slots=True)
class Edge:
    """Handles are resolved: a missing source handle is ``default``, a missing target handle equals it.

    ``via``: the wire types of the ports of composites that it leads through, source first.
    """

    id: str
    source: str
    target: str
    source_handle: str
    target_handle: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    via: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    type: str = "lastWrite"
    value_type: str = "ANY"
    config: Mapping[str, Any] = field(default_factory=dict)
    lifetime: str = "forever"
    reset_on: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Container:
    """``name``: what its nodes call it, which in a composite is not its ``id``; empty where it is."""

    id: str
    label: str = ""
    states: Mapping[str, State] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    id: str
    node_id: str
    container_id: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hook:
    event: str
    command: str
    match_node_type: str = "*"
    match_node_id: str | None = None
    timeout_ms: int = 5000
    enabled: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Graph:
    """One agent. ``step_budget`` None means "let the environment or the default decide" (JSON null).

    ``eval_split``: of the environment's splits, the one that it is made for.
    """

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    description: str = ""
    step_budget: int | None = 500
    eval_graph: bool = True
    eval_split: str = ""
    containers: tuple[Container, ...] = ()
    grants: tuple[Grant, ...] = ()
    hooks: tuple[Hook, ...] = ()
    kind: str = "graph"
    extra: Mapping[str, Any] = field(default_factory=dict)

    def node(self, node_id: str) -> Node:
        """The node of this id; KeyError where there is none."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)


@dataclass(frozen=True, slots=True)
class Port:
    """A port under a node's config. ``wire_type`` may be ``LIST[T]``."""

    name: str
    wire_type: str = "ANY"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Ports:
    """A node's ports. ``open_inputs``: any other input handle is accepted too, as an optional ANY."""

    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    open_inputs: bool = False
    open_outputs: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a graph. ``where`` names the node, edge, container or file.

    ``severity`` is ``error``, which refuses the graph, or ``warning``.

    ``code`` is stable, kebab-case: ``required-input-unwired``, ``unknown-node-type``, ``wire-type`` ...
    """

    code: str
    where: str
    message: str
    remedy: str = ""
    severity: str = "error"


class GraphError(Exception):
    """A graph is refused; ``problems`` holds every reason, not the first."""

    def __init__(self, problems: list[Problem], source: str = "") -> None:
        self.problems = problems
        self.source = source
        lines = [f"{p.where}: {p.message}" + (f" ({p.remedy})" if p.remedy else "") for p in problems]
        super().__init__("\n".join(lines))


PortResolver = Callable[[Node], Ports | None]
"""Ports of a node under its config, or None where no nodeset provides its type."""
