"""A saved graph file as a Graph, and back. The format: contract graph-json.md, section "File"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from engine.graph.decode import data_problems, decode
from engine.graph.model import Container, Edge, Grant, Graph, GraphError, Hook, Node, Problem, State
from engine.graph.names import node_name

T = TypeVar("T")
U = TypeVar("U")


def load_graph(path: str | Path) -> Graph:
    """Read a file. Raises GraphError where it cannot be read or is not a graph."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        problem = Problem("unreadable", "file", f"cannot read {path}: {error.strerror or error}")
        raise GraphError([problem], str(path)) from None
    return parse_graph(data, str(path))


def parse_graph(data: bytes | Mapping[str, Any], source: str = "") -> Graph:
    """Read JSON text, or JSON data already decoded. Raises GraphError with every problem of form.

    What a well-formed graph may still have wrong (repeated ids among it) is ``check_graph``'s to say.
    """
    if isinstance(data, bytes):
        value, problems = decode(data)
    else:
        value = dict(data)
        problems = data_problems(value)
    if not problems and not isinstance(value, dict):
        problems = [Problem("wrong-type", "file", f"a graph is an object, not {_kind(value)}")]
    if problems:
        raise GraphError(problems, source)
    reader = _Reader()
    graph = reader.graph(value)
    if reader.problems:
        # Nobody comes to check a graph that cannot be read: what its nodes' hooks lack is told here.
        raise GraphError([*reader.problems, *_unread_hooks(graph)], source)
    return graph


def read_hooks(data: Any, where: str) -> tuple[tuple[Hook, ...], list[Problem]]:
    """The hooks in a list of JSON objects, which may be absent, and what is wrong with the others in it."""
    reader = _Reader()
    hooks = reader.each({"hooks": data}, "hooks", reader.hook)
    whole = tuple(hook for hook in hooks if hook.event and hook.command)
    return whole, [replace(problem, where=f"{where}: {problem.where}") for problem in reader.problems]


def node_hooks(node: Node) -> tuple[tuple[Hook, ...], list[Problem]]:
    """The same of those that a node has in ``config.hooks`` for itself."""
    return read_hooks(node.config.get("hooks"), f"{node_name(node.id)}, config.hooks")


def _unread_hooks(graph: Graph) -> Iterator[Problem]:
    for node in graph.nodes:
        yield from node_hooks(node)[1]
        if node.subgraph is not None:
            for problem in _unread_hooks(node.subgraph):
                yield replace(problem, where=f"{node_name(node.id)} > {problem.where}")


def dump_graph(graph: Graph) -> dict[str, Any]:
    """The graph as JSON data, unknown keys included; what is absent by default stays absent."""
    lists = {
        "containers": [_dump_container(container) for container in graph.containers],
        "access_grants": [
            {"id": grant.id, "node_id": grant.node_id, "container_id": grant.container_id, **grant.extra}
            for grant in graph.grants
        ],
        "hooks": [_dump_hook(hook) for hook in graph.hooks],
    }
    return {
        "name": graph.name,
        "description": graph.description,
        "step_budget": graph.step_budget,
        "eval_graph": graph.eval_graph,
        **({"eval_split": graph.eval_split} if graph.eval_split else {}),
        **({} if graph.kind == "graph" else {"kind": graph.kind}),
        "nodes": [_dump_node(node) for node in graph.nodes],
        "edges": [_dump_edge(edge) for edge in graph.edges],
        **{key: items for key, items in lists.items() if items},
        **graph.extra,
    }


def _dump_node(node: Node) -> dict[str, Any]:
    known = {"id": node.id, "type": node.type, "label": node.label, "config": dict(node.config)}
    subgraph = {} if node.subgraph is None else {"subgraph": dump_graph(node.subgraph)}
    return {**known, **subgraph, **node.extra}


def _dump_edge(edge: Edge) -> dict[str, Any]:
    return {
        "id": edge.id,
        "source": edge.source,
        "target": edge.target,
        "sourceHandle": edge.source_handle,
        "targetHandle": edge.target_handle,
        **edge.extra,
    }


def _dump_container(container: Container) -> dict[str, Any]:
    states = {
        name: {
            "type": state.type,
            "value_type": state.value_type,
            "config": dict(state.config),
            "lifetime": state.lifetime,
            "reset_on": list(state.reset_on),
            **state.extra,
        }
        for name, state in container.states.items()
    }
    return {"id": container.id, "label": container.label, "states": states, **container.extra}


def _dump_hook(hook: Hook) -> dict[str, Any]:
    node_id = {} if hook.match_node_id is None else {"match_node_id": hook.match_node_id}
    return {
        "event": hook.event,
        "command": hook.command,
        "match_node_type": hook.match_node_type,
        **node_id,
        "timeout_ms": hook.timeout_ms,
        "enabled": hook.enabled,
        **hook.extra,
    }


class _Reader:
    """Reads what it can and collects what is wrong, so that a file's problems are reported together.

    Each method takes the keys that it knows out of its own copy of an object; what is left is unknown,
    and kept.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def graph(self, value: Mapping[str, Any]) -> Graph:
        raw = dict(value)
        return Graph(
            name=self.take(raw, "graph", "name", str, ""),
            description=self.take(raw, "graph", "description", str, ""),
            nodes=self.each(raw, "nodes", self.node),
            edges=self.each(raw, "edges", self.edge),
            step_budget=self.step_budget(raw),
            eval_graph=self.take(raw, "graph", "eval_graph", bool, True),
            eval_split=self.take(raw, "graph", "eval_split", str, ""),
            containers=self.each(raw, "containers", self.container),
            grants=self.each(raw, "access_grants", self.grant),
            hooks=self.each(raw, "hooks", self.hook),
            kind=self.take(raw, "graph", "kind", str, "graph"),
            extra=raw,
        )

    def step_budget(self, raw: dict[str, Any]) -> int | None:
        """``maxIterations``, its old name, stays among the unknown keys: ``check_graph`` warns of it."""
        if "step_budget" in raw:
            return self.take(raw, "graph", "step_budget", int, None)
        return self.take(dict(raw), "graph", "maxIterations", int, 500)

    def node(self, raw: dict[str, Any], where: str) -> Node:
        return Node(
            id=self.text(raw, where, "id"),
            type=self.text(raw, where, "type"),
            label=self.take(raw, where, "label", str, ""),
            config=self.take(raw, where, "config", dict, {}),
            subgraph=self.subgraph(raw, where),
            extra=raw,
        )

    def subgraph(self, raw: dict[str, Any], where: str) -> Graph | None:
        found = self.take(raw, where, "subgraph", dict, None)
        if found is None:
            return None
        inner = _Reader()
        graph = inner.graph(found)
        self.problems += [replace(problem, where=f"{where} > {problem.where}") for problem in inner.problems]
        return graph

    def edge(self, raw: dict[str, Any], where: str) -> Edge:
        source_handle = self.take(raw, where, "sourceHandle", str, "") or "default"
        return Edge(
            id=self.text(raw, where, "id"),
            source=self.text(raw, where, "source"),
            target=self.text(raw, where, "target"),
            source_handle=source_handle,
            target_handle=self.take(raw, where, "targetHandle", str, "") or source_handle,
            extra=raw,
        )

    def container(self, raw: dict[str, Any], where: str) -> Container:
        states: dict[str, Any] = self.take(raw, where, "states", dict, {})
        return Container(
            id=self.text(raw, where, "id"),
            label=self.take(raw, where, "label", str, ""),
            states={name: self.state(states, where, name) for name in states},
            extra=raw,
        )

    def state(self, states: Mapping[str, Any], container: str, name: str) -> State:
        where = f"{container}.states.{name}"
        raw: dict[str, Any] = dict(self.take(dict(states), f"{container}.states", name, dict, {}))
        reset_on: list[Any] = self.take(raw, where, "reset_on", list, [])
        if not all(isinstance(signal, str) for signal in reset_on):
            self.wrong(f"{where}.reset_on", "a list of signal names", reset_on)
            reset_on = []
        return State(
            type=self.take(raw, where, "type", str, "lastWrite"),
            value_type=self.take(raw, where, "value_type", str, "ANY"),
            config=self.take(raw, where, "config", dict, {}),
            lifetime=self.take(raw, where, "lifetime", str, "forever"),
            reset_on=tuple(reset_on),
            extra=raw,
        )

    def grant(self, raw: dict[str, Any], where: str) -> Grant:
        return Grant(
            id=self.text(raw, where, "id"),
            node_id=self.text(raw, where, "node_id"),
            container_id=self.text(raw, where, "container_id"),
            extra=raw,
        )

    def hook(self, raw: dict[str, Any], where: str) -> Hook:
        return Hook(
            event=self.text(raw, where, "event"),
            command=self.text(raw, where, "command"),
            match_node_type=self.take(raw, where, "match_node_type", str, "*"),
            match_node_id=self.take(raw, where, "match_node_id", str, None),
            timeout_ms=self.take(raw, where, "timeout_ms", int, 5000),
            enabled=self.take(raw, where, "enabled", bool, True),
            extra=raw,
        )

    def each(self, raw: dict[str, Any], key: str, read: Callable[[dict[str, Any], str], T]) -> tuple[T, ...]:
        items: list[Any] = self.take(raw, "graph", key, list, [])
        found = []
        for index, item in enumerate(items):
            if isinstance(item, dict):
                found.append(read(dict(item), _name(item, key, index)))
            else:
                self.wrong(f"{key}[{index}]", "an object", item)
        return tuple(found)

    def text(self, raw: dict[str, Any], where: str, key: str) -> str:
        """A key that must be there, and not empty."""
        value = raw.pop(key, None)
        if isinstance(value, str) and value:
            return value
        if value in (None, ""):
            self.problems.append(Problem("missing-key", where, f"has no {key!r}"))
        else:
            self.wrong(f"{where}.{key}", "text", value)
        return ""

    def take(self, raw: dict[str, Any], where: str, key: str, kind: type[T], default: U) -> T | U:
        """An optional key; ``null`` counts as absent."""
        value = raw.pop(key, None)
        if value is None:
            return default
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
        self.wrong(f"{where}.{key}", _KINDS[kind], value)
        return default

    def wrong(self, where: str, expected: str, value: Any) -> None:
        self.problems.append(Problem("wrong-type", where, f"must be {expected}, not {_kind(value)}"))


_KINDS: dict[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    dict: "an object",
    list: "a list",
}


def _kind(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return _KINDS.get(type(value), f"the number {value}")


def _name(item: Mapping[str, Any], key: str, index: int) -> str:
    """How a problem names an item: by its id where it has one."""
    found = item.get("id")
    return f"{key}[{index}] {found!r}" if isinstance(found, str) and found else f"{key}[{index}]"
