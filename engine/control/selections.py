"""What a run selects: what a node cannot do without, and nothing that its environment does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from engine.components.catalog import Catalog, NodesetManifest
from engine.control.panel_fields import value_problem
from engine.control.reports import StartRequest
from engine.graph.expand import expand
from engine.graph.model import Graph, Problem
from engine.graph.names import node_name

SET_BY_THE_RUN = {
    "seed": "use --seed (seed), from which every episode's seed comes",
    "episode_index": "use --episodes",
}
"""Fields that a run sets itself, for each episode; and what to use instead of selecting them."""
OF_EVERY_RUN = ("expected",)
"""What a run may be given of any environment: what graders compare with."""


def selection_warnings(graph: Graph, catalog: Catalog) -> list[Problem]:
    """One for each name that every run of the graph must select."""
    return [
        Problem("needs-selection", node_name(node), *_told(name), severity="warning")
        for name, node in _left_open(graph, catalog).items()
    ]


def selection_problems(
    graph: Graph, catalog: Catalog, env: NodesetManifest | None, request: StartRequest
) -> Iterator[Problem]:
    """One for each selector that some episode lacks, whose value is none, or that the environment does not
    have: it would be played as if nothing had been selected, or fail in each episode alike."""
    unknown = list(_unknown_names(graph, env, request))
    refused = {problem.where for problem in unknown}
    wrong = [problem for problem in _wrong_values(graph, env, request) if problem.where not in refused]
    told = {problem.where.partition(".")[2] for problem in wrong}
    for name in _left_open(graph, catalog):
        if name not in told and not all(own.get(name) for own in selections(request)):
            yield Problem("bad-request", f"selectors.{name}", *_told(name))
    yield from wrong
    yield from unknown


def selections(request: StartRequest) -> list[Mapping[str, Any]]:
    """What the environment's panel is told, for each way in which episodes differ."""
    named = {"dataset": request.dataset, "split": request.split}
    shared = {**{name: value for name, value in named.items() if value}, **request.selectors}
    return [{**shared, **own} for own in request.episode_selectors or [{}]]


def _wrong_values(graph: Graph, env: NodesetManifest | None, request: StartRequest) -> Iterator[Problem]:
    """One for each value that is empty, or that the panel says its field does not take. An empty one is good
    where the field says that it means something, and where it is no field of the panel but the graph's."""
    fields = {str(field["name"]): field for field in (_panel(env) or {}).get("fields", ())}
    heard = _heard_by_graph(graph)
    for where, name, value in _given(request):
        field = fields.get(name, {"optional": name in heard or "selectors" in heard})
        if found := value_problem(field, value, env.name if env else ""):
            yield Problem("bad-request", where, *found)


def _given(request: StartRequest) -> Iterator[tuple[str, str, Any]]:
    """(Field of the request, selector, value) of what is selected; the same of many episodes once."""
    for name, value in (("dataset", request.dataset), ("split", request.split)):
        if value:
            yield name, name, value
    of_episodes = [item for chosen in request.episode_selectors or () for item in chosen.items()]
    once = {(name, repr(value)): (name, value) for name, value in of_episodes}
    for where, items in (("selectors", request.selectors.items()), ("episode_selectors", once.values())):
        for name, value in items:
            if name not in (*SET_BY_THE_RUN, *OF_EVERY_RUN):
                yield f"{where}.{name}", name, value


def _panel(env: NodesetManifest | None) -> dict[str, Any] | None:
    return env.panel if env is not None and env.parallelism == "replicated" else None


def _unknown_names(graph: Graph, env: NodesetManifest | None, request: StartRequest) -> Iterator[Problem]:
    """One for each name that the environment does not have, where it says that it has no others: it would
    play what it plays by default. Of a list of episodes, ``task_id`` is what they are counted under."""
    panel = _panel(env)
    if panel is None or env is None or not panel.get("only_fields"):
        return
    fields = [str(field["name"]) for field in panel["fields"] if field["name"] not in SET_BY_THE_RUN]
    if request.dataset and "dataset" not in fields:
        told = f"is {request.dataset!r}, and {env.name} has no data sets"
        yield Problem("bad-request", "dataset", told, "leave it out")
    heard = _heard_by_graph(graph)
    known = {*fields, *SET_BY_THE_RUN, *OF_EVERY_RUN, *heard}
    if "selectors" in heard:
        return
    of_episodes = {name for chosen in request.episode_selectors or () for name in chosen} - {"task_id"}
    for where, names in (("selectors", request.selectors.keys()), ("episode_selectors", of_episodes)):
        for name in sorted(names - known):
            near = get_close_matches(name, fields, n=1)
            meant = f"did you mean {near[0]}? " if near else ""
            yield Problem(
                "bad-request",
                f"{where}.{name}",
                f"{env.name} has no such selector",
                f"{meant}it has {', '.join(fields) or 'none'}",
            )


def _heard_by_graph(graph: Graph) -> set[str]:
    """Selectors that its nodes are told by name; ``selectors``: all of them."""
    whole = expand(graph).graph
    sources = {node.id for node in whole.nodes if node.type == "episodeSource"}
    return {edge.source_handle for edge in whole.edges if edge.source in sources}


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
    return (
        f"the graph gives no {name}, and there is no default",
        f"select one: evaltower run --select {name}=…",
    )
