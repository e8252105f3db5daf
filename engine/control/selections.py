"""What a graph leaves to be selected for a run, as a node cannot do without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.components.catalog import Catalog
from engine.control.reports import StartRequest
from engine.graph.expand import expand
from engine.graph.model import Graph, Problem
from engine.graph.names import node_name


def selection_warnings(graph: Graph, catalog: Catalog) -> list[Problem]:
    """One for each name that every run of the graph must select."""
    return [
        Problem("needs-selection", node_name(node), *_told(name), severity="warning")
        for name, node in _left_open(graph, catalog).items()
    ]


def selection_problems(graph: Graph, catalog: Catalog, request: StartRequest) -> Iterator[Problem]:
    """One for each of these that the request selects for no episode, or not for all of them."""
    selected = selections(request)
    for name in _left_open(graph, catalog):
        if not all(own.get(name) for own in selected):
            yield Problem("bad-request", f"selectors.{name}", *_told(name))


def selections(request: StartRequest) -> list[Mapping[str, Any]]:
    """What the environment's panel is told, for each way in which episodes differ."""
    named = {"dataset": request.dataset, "split": request.split}
    shared = {**{name: value for name, value in named.items() if value}, **request.selectors}
    return [{**shared, **own} for own in request.episode_selectors or [{}]]


def _left_open(graph: Graph, catalog: Catalog) -> Mapping[str, str]:
    """Name → the first node that wants it."""
    found: dict[str, str] = {}
    for node in expand(graph).graph.nodes:
        tool = catalog.tool(node.type)
        if tool is not None:
            config = {**tool.default_config, **node.config}
            for name in tool.required_config:
                if not config.get(name):
                    found.setdefault(name, node.shown)
    return found


def _told(name: str) -> tuple[str, str]:
    return f"the graph gives no {name}, and there is no default", f"select one: --select {name}=…"
