"""What a graph leaves to be selected for a run, as a node cannot do without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
    own = request.episode_selectors or [{}]
    for name in _left_open(graph, catalog):
        if not all({**request.selectors, **selectors}.get(name) for selectors in own):
            yield Problem("bad-request", f"selectors.{name}", *_told(name))


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
