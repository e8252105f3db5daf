"""Composites: a node with a subgraph becomes its inner nodes, before anything else looks at the graph. Pure.

Inner ids become ``<composite>__<inner>``. The ``graphIn`` and ``graphOut`` nodes of a subgraph are the ports
of its composite, by ``config.portName``: they join the edges of the two levels, and are gone then. Only the
``graphOut`` nodes of a composite that holds a loop stay, and keep their value until it ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from engine.graph.model import Container, Edge, Grant, Graph, Node, Problem
from engine.graph.names import edge_name, near_or_all, node_name

MOST_JOINTS = 20_000
"""Edges that may be followed through the ports of composites; they multiply where they meet."""

_UNNAMED = {"graphIn": "input", "graphOut": "output"}


@dataclass(frozen=True, slots=True)
class Expansion:
    """``graph`` has no composites. ``names``: for the new ids of what came out of one, the path to it in old
    ids, which messages show.
    """

    graph: Graph
    names: Mapping[str, str]
    problems: tuple[Problem, ...]


def expand(graph: Graph) -> Expansion:
    """Expand every composite, nested ones too; ``problems``: what is wrong at their borders."""
    if all(node.subgraph is None for node in graph.nodes):
        return Expansion(graph, {}, ())
    book = _Book({})
    top = _Level(graph, book)
    levels = list(top.levels())
    problems = list(chain.from_iterable(level.problems() for level in levels))
    try:
        edges = tuple(chain.from_iterable(level.edges() for level in levels))
    except OverflowError:
        edges = ()
        message = f"its edges through composites are more than {MOST_JOINTS}"
        problems.append(
            Problem("too-many-edges", "graph", message, "join fewer edges at ports of composites")
        )
    flat = replace(
        graph,
        nodes=tuple(top.nodes()),
        edges=edges,
        containers=tuple(chain.from_iterable(level.containers() for level in levels)),
        grants=tuple(chain.from_iterable(level.grants() for level in levels)),
    )
    return Expansion(flat, book.names, tuple(problems))


@dataclass
class _Book:
    """What the levels of one graph keep together."""

    names: dict[str, str]
    joints: int = 0


@dataclass(frozen=True, slots=True)
class _Source:
    """An output at the far end of an edge. ``edges``: the new ids of all that it comes along."""

    node_id: str
    handle: str
    edges: tuple[str, ...]
    via: tuple[str, ...] = ()


class _Level:
    """A graph, inside the composite ``name`` of the graph ``outer``, or at the top."""

    def __init__(self, graph: Graph, book: _Book, outer: _Level | None = None, name: str = "") -> None:
        self.graph = graph
        self.book = book
        self.outer = outer
        self.name = name
        self.path: tuple[str, ...] = (*outer.path, name) if outer else ()
        self.types = {node.id: node.type for node in graph.nodes}
        self.composites = {
            node.id: _Level(node.subgraph, book, self, node.id)
            for node in graph.nodes
            if node.subgraph is not None
        }
        holds_a_loop = "iterIn" in self.types.values()
        self.joined = () if outer is None else ("graphIn",) if holds_a_loop else ("graphIn", "graphOut")

    def levels(self) -> Iterator[_Level]:
        yield self
        for composite in self.composites.values():
            yield from composite.levels()

    def new_id(self, old: str) -> str:
        path = (*self.path, old)
        new = "__".join(path)
        if self.path:
            self.book.names[new] = " > ".join(path)
        return new

    def nodes(self) -> Iterator[Node]:
        """In the order of the file, a composite's in its place."""
        for node in self.graph.nodes:
            if node.id in self.composites:
                yield from self.composites[node.id].nodes()
            elif node.type not in self.joined:
                yield self._moved(node) if self.path else node

    def _moved(self, node: Node) -> Node:
        config, partner = node.config, node.config.get("pairedWith")
        if isinstance(partner, str) and partner:
            config = {**config, "pairedWith": self.new_id(partner)}
        label = " > ".join((*self.path, node.label or node.id))
        return replace(node, id=self.new_id(node.id), label=label, config=config, path=(*self.path, node.id))

    def edges(self) -> Iterator[Edge]:
        """Those that end at a node of this level, from each output that they come from."""
        for edge in self.graph.edges:
            if edge.target in self.composites or self.types.get(edge.target) in self.joined:
                continue
            for source in self._sources(edge, ()):
                new_id = "+".join(source.edges)
                if len(source.edges) > 1:
                    parts = (self.book.names.get(one, one) for one in source.edges)
                    self.book.names[new_id] = " + ".join(parts)
                yield replace(
                    edge,
                    id=new_id,
                    source=source.node_id,
                    source_handle=source.handle,
                    target=self.new_id(edge.target),
                    via=source.via,
                )

    def _sources(self, edge: Edge, beyond: tuple[Edge, ...]) -> Iterator[_Source]:
        """The outputs that an edge of this level comes from; none for a ring of edges alone.

        ``beyond``: the edges that go on from its end.
        """
        if any(edge is one for one in beyond):
            return
        new_id = self.new_id(edge.id)
        joint = self._joint(edge)
        if joint is None:
            yield _Source(self.new_id(edge.source), edge.source_handle, (new_id,))
            return
        self.book.joints += 1
        if self.book.joints > MOST_JOINTS:
            raise OverflowError
        level, ports = joint
        for port in ports:
            if port.type not in level.joined:
                yield _Source(level.new_id(port.id), "value", (new_id,))
                continue
            for at, earlier in level.leading_to(port):
                for source in at._sources(earlier, (*beyond, edge)):
                    via = (*source.via, _wire_type(port))
                    yield replace(source, edges=(*source.edges, new_id), via=via)

    def _joint(self, edge: Edge) -> tuple[_Level, list[Node]] | None:
        """The ports of a composite that an edge begins at, and their level; None where at a node."""
        composite = self.composites.get(edge.source)
        if composite is not None:
            return composite, composite.ports("graphOut", edge.source_handle)
        if self.outer is not None and self.types.get(edge.source) == "graphIn":
            return self, [node for node in self.graph.nodes if node.id == edge.source]
        return None

    def leading_to(self, port: Node) -> Iterator[tuple[_Level, Edge]]:
        """The edges into a port of this level's composite, from the side that it takes its values from."""
        if port.type == "graphOut":
            yield from ((self, edge) for edge in self.graph.edges if edge.target == port.id)
        elif self.outer is not None:
            for edge in self.outer.graph.edges:
                if edge.target == self.name and edge.target_handle == _port_name(port):
                    yield self.outer, edge

    def ports(self, side: str, name: str) -> list[Node]:
        """The nodes that are this composite's port of that name."""
        return [node for node in self.graph.nodes if node.type == side and _port_name(node) == name]

    def containers(self) -> Iterator[Container]:
        for container in self.graph.containers:
            inner = replace(container, id=self.new_id(container.id), name=container.id)
            yield inner if self.path else container

    def grants(self) -> Iterator[Grant]:
        for grant in self.graph.grants:
            if grant.node_id not in self.composites:
                yield replace(
                    grant,
                    id=self.new_id(grant.id),
                    node_id=self.new_id(grant.node_id),
                    container_id=self._container(grant.container_id),
                )

    def _container(self, old: str) -> str:
        """A container of this graph or of one around it, the nearest first; else a nodeset's, as it is."""
        if any(container.id == old for container in self.graph.containers):
            return self.new_id(old)
        return self.outer._container(old) if self.outer else old

    def problems(self) -> Iterator[Problem]:
        for name, count in Counter(node.id for node in self.graph.nodes).items():
            if count > 1 and name in self.composites:
                message = f"the id is used {count} times"
                yield Problem("duplicate-id", node_name(self.new_id(name)), message, "rename all but one")
        yield from self._missing_ports()
        for grant in self.graph.grants:
            if grant.node_id in self.composites:
                message = f"names the composite {self.new_id(grant.node_id)!r}, which passes it on to no node"
                where, remedy = (
                    f"grant {self.new_id(grant.id)!r}",
                    "grant it inside, to the nodes that use it",
                )
                yield Problem("idle-grant", where, message, remedy, severity="warning")
        for node in self.graph.nodes:
            inner = node.subgraph.hooks if node.subgraph is not None else ()
            if node.id in self.composites and (
                node.config.get("hooks") or any(hook.enabled for hook in inner)
            ):
                message = "its hooks are not run, being a composite's"
                where, remedy = node_name(self.new_id(node.id)), "put them into the graph's own hooks"
                yield Problem("idle-hook", where, message, remedy, severity="warning")

    def _missing_ports(self) -> Iterator[Problem]:
        for edge in self.graph.edges:
            for end, side, node_id, handle in (
                ("output", "graphOut", edge.source, edge.source_handle),
                ("input", "graphIn", edge.target, edge.target_handle),
            ):
                composite = self.composites.get(node_id)
                if composite is not None and not composite.ports(side, handle):
                    names = [_port_name(node) for node in composite.graph.nodes if node.type == side]
                    message = f"the composite {self.new_id(node_id)!r} has no {end} {handle!r}"
                    where, remedy = edge_name(self.new_id(edge.id)), near_or_all(handle, names, f"its {end}s")
                    yield Problem("unknown-handle", where, message, remedy)


def _port_name(node: Node) -> str:
    return str(node.config.get("portName") or _UNNAMED[node.type])


def _wire_type(port: Node) -> str:
    return str(port.config.get("wireType") or "ANY")
