"""All that is wrong with a graph, given what is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import which

from engine.components.builtin_checks import builtin_problems
from engine.components.builtin_ports import BUILTIN_TYPES, resolve_builtin
from engine.components.catalog import Catalog, NodesetManifest, nodeset_of
from engine.graph.check import check_graph
from engine.graph.expand import expand
from engine.graph.model import Graph, GraphError, Node, PortResolver, Ports, Problem
from engine.graph.names import misspelt, node_name


def resolver(catalog: Catalog) -> PortResolver:
    """Ports of any node: built in, or of a nodeset."""

    def resolve(node: Node) -> Ports | None:
        try:
            return resolve_builtin(node) or catalog.resolve(node)
        except GraphError as error:  # the check expects a ValueError of a config that is refused
            raise ValueError(str(error)) from None

    return resolve


def child_resolver(catalog: Catalog) -> PortResolver:
    """Ports of a dynamic child, as its tool declares them: nothing is asked while an episode runs."""

    def resolve(node: Node) -> Ports | None:
        tool = catalog.tool(node.type)
        return tool.ports() if tool is not None else resolve_builtin(node)

    return resolve


def needed_nodesets(graph: Graph) -> list[str]:
    """The names of the nodesets that the graph's node types belong to, in order of first use.

    Of its composites too.
    """
    nodes = expand(graph).graph.nodes
    return list(dict.fromkeys(nodeset_of(node.type) for node in nodes if "__" in node.type))


def all_problems(graph: Graph, catalog: Catalog) -> list[Problem]:
    """Errors and warnings of the graph, with the reason where a nodeset that it needs failed to load."""
    problems = check_graph(graph, resolver(catalog), [*BUILTIN_TYPES, *catalog.known_types()])
    absent = [name for name in needed_nodesets(graph) if name not in catalog.nodesets]
    failed = [
        Problem("nodeset-failed", failure.path, failure.error)
        for name in absent
        for failure in catalog.failures
        if name == Path(failure.path).stem
    ]
    needed = [catalog.nodesets[name] for name in needed_nodesets(graph) if name in catalog.nodesets]
    return [
        *problems,
        *builtin_problems(graph),
        *_misspelt_configs(graph, catalog),
        *failed,
        *filter(None, map(_cannot_start, needed)),
    ]


def _misspelt_configs(graph: Graph, catalog: Catalog) -> Iterator[Problem]:
    """Keys of the nodes' configs that look like others which their tools declare."""
    for node in expand(graph).graph.nodes:
        if tool := catalog.tool(node.type):
            unread = f"is no field that {node.type} declares"
            yield from misspelt(node_name(node.shown), "config.", node.config, tool.config_keys, unread)


def _cannot_start(manifest: NodesetManifest) -> Problem | None:
    where, python = f"nodeset {manifest.name!r}", manifest.server_python
    lend = f"lend it from a server that runs: --server {manifest.name}=URL"
    if manifest.server_image is not None:
        told = f"it runs in the Docker image {manifest.server_image}, which is not started here"
        return Problem("needs-image", where, told, lend)
    if python is not None and which(python) is None:
        told = f"its server_python, {python}, is not there"
        return Problem("no-interpreter", where, told, f"create that environment, or {lend}")
    return None
