"""What is wrong with a graph's built-in nodes and its containers, beside their ports and wires. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from engine.components.builtin_configs import field_problems, fields_of
from engine.components.builtin_ports import resolve_builtin
from engine.components.containers import Container as Memory
from engine.graph.check import LIFETIMES, REDUCERS
from engine.graph.expand import expand
from engine.graph.model import Container, Graph, Node, Problem
from engine.graph.names import misspelt, near_or_all, node_name

STATE = "graph_state"
MESSAGES = "messages"
"""The state of ``graph_state`` that holds a conversation."""

ALWAYS_KNOWN = frozenset({"step", "pos", "position", "heading"})
"""Names that a template may hold in any graph."""

PLACEHOLDER = re.compile(r"\{(\w+)\}")
_STATE_CONFIG = ("initial_value", "max_size")


def builtin_problems(graph: Graph) -> list[Problem]:
    """Every one, errors and warnings, composites included."""
    flat = expand(graph).graph
    wired: dict[str, set[str]] = {node.id: set() for node in flat.nodes}
    for edge in flat.edges:
        wired.get(edge.target, set()).add(edge.target_handle)
    states = _granted_states(flat)
    problems: list[Problem] = []
    for node in flat.nodes:
        where = node_name(node.shown)
        problems += (Problem("bad-config", where, told) for told in field_problems(node.type, node.config))
        problems += misspelt(where, "config.", node.config, fields_of(node.type))
        if node.type == "llmCall":
            problems += _of_llm_call(node, wired[node.id], states.get(node.id))
        if node.type == "textParse":
            problems += _of_text_parse(node)
    for container in flat.containers:
        problems += _of_container(container)
    return problems


_States = Mapping[str, str] | None
"""Reducers by state; None where they are a nodeset's to say."""


def _granted_states(graph: Graph) -> dict[str, _States]:
    """The states of ``graph_state``, by the nodes that it is granted to."""
    containers = {container.id: container for container in graph.containers}
    found: dict[str, _States] = {node.id: {} for node in graph.nodes}
    for grant in graph.grants:
        container = containers.get(grant.container_id)
        if container is None:
            found[grant.node_id] = None
        elif (container.name or container.id) == STATE and found.get(grant.node_id) is not None:
            found[grant.node_id] = {name: state.type for name, state in container.states.items()}
    return found


def _of_llm_call(node: Node, wired: Iterable[str], states: _States) -> Iterator[Problem]:
    where, config = node_name(node.shown), node.config
    if states is not None:
        remedy = f"grant it the container {STATE!r}, and declare the state there"
        if config.get("mode") == "conversation" and states.get(MESSAGES) != "accumulator":
            told = (
                f"config.mode is conversation, and it is granted no {STATE} with an accumulator {MESSAGES!r}"
            )
            yield Problem("no-state", where, told, remedy)
        written = config.get("write_to_state")
        if isinstance(written, str) and written and written not in states:
            told = f"config.write_to_state is {written!r}, which is no state of a {STATE} granted to it"
            yield Problem(
                "no-state", where, told, near_or_all(written, states, "there are") if states else remedy
            )
        yield from _of_template(node, wired, states)


def _of_template(node: Node, wired: Iterable[str], states: Mapping[str, str]) -> Iterator[Problem]:
    template = node.config.get("template")
    try:
        ports = resolve_builtin(node)
    except ValueError:  # which is told with its ports
        return
    if not isinstance(template, str) or ports is None:
        return
    known = ALWAYS_KNOWN.union(wired, states, (port.name for port in ports.inputs))
    for name in dict.fromkeys(PLACEHOLDER.findall(template)):
        if name not in known:
            told = f"config.template: {{{name}}} is no input port and no state of a {STATE} granted to it"
            yield Problem("unknown-name", node_name(node.shown), told, near_or_all(name, known, "there are"))


def _of_text_parse(node: Node) -> Iterator[Problem]:
    for mode, field in (("regex", "pattern"), ("json_field", "json_key")):
        if node.config.get("mode") == mode and not node.config.get(field):
            told = f"config.mode is {mode}, and config.{field} is empty: its value is always the default"
            yield Problem("idle-config", node_name(node.shown), told, severity="warning")


def _of_container(container: Container) -> Iterator[Problem]:
    where = f"container {container.id!r}"
    for name, state in container.states.items():
        yield from misspelt(where, f"state {name!r}: config.", state.config, _STATE_CONFIG)
        if state.type not in REDUCERS or state.lifetime not in LIFETIMES:
            continue  # which the check of the graph tells
        try:
            Memory(container.id, {name: state})
        except ValueError as error:
            yield Problem("bad-state", where, str(error).removeprefix(f"{where}, "))
        if state.lifetime == "custom" and not state.reset_on:
            told = f"state {name!r} has the lifetime custom and no reset_on, so that nothing ever resets it"
            yield Problem(
                "idle-lifetime", where, told, "name its signals, or say forever", severity="warning"
            )
