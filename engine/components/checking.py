"""All that is wrong with a graph, given what is installed."""

from __future__ import annotations

from pathlib import Path

from engine.components.builtin_ports import BUILTIN_TYPES, resolve_builtin
from engine.components.catalog import Catalog, nodeset_of
from engine.graph.check import check_graph
from engine.graph.model import Graph, GraphError, Node, PortResolver, Ports, Problem


def resolver(catalog: Catalog) -> PortResolver:
    """Ports of any node: built in, or of a nodeset."""

    def resolve(node: Node) -> Ports | None:
        try:
            return resolve_builtin(node) or catalog.resolve(node)
        except GraphError as error:  # the check expects a ValueError of a config that is refused
            raise ValueError(str(error)) from None

    return resolve


def needed_nodesets(graph: Graph) -> list[str]:
    """The names of the nodesets that the graph's node types belong to, in order of first use."""
    return list(dict.fromkeys(nodeset_of(node.type) for node in graph.nodes if "__" in node.type))


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
    return [*problems, *failed, *_in_images(graph, catalog)]


def _in_images(graph: Graph, catalog: Catalog) -> list[Problem]:
    needed = [catalog.nodesets[name] for name in needed_nodesets(graph) if name in catalog.nodesets]
    return [
        Problem(
            "needs-image",
            f"nodeset {manifest.name!r}",
            f"runs in the Docker image {manifest.server_image}, which is not started here",
            f"start it with AgentCanvas, and lend it: --server {manifest.name}=URL",
        )
        for manifest in needed
        if manifest.server_image is not None
    ]
