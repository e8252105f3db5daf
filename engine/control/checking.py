"""A graph, by file or by name, with all that is wrong with it and what it will need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from engine.components.catalog import Catalog, NodesetManifest
from engine.components.checking import all_problems, needed_nodesets
from engine.components.discover import discover
from engine.components.roots import standard_roots
from engine.control.model_problems import model_problems
from engine.control.reports import NOTHING_MORE, CheckReport, NodesetUse, NotFoundError, Sources
from engine.graph.model import Graph, GraphError, Problem
from engine.graph.read import load_graph, parse_graph
from engine.store.records import Needs, NodesetNeed


@dataclass(frozen=True)
class Prepared:
    """A graph that was looked at. ``graph`` is None where it could not even be read."""

    name: str
    source: str
    graph: Graph | None
    problems: list[Problem]
    nodesets: list[NodesetManifest] = field(default_factory=list)

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.severity == "error"]


def open_catalog(root: Path, sources: Sources = NOTHING_MORE) -> Catalog:
    """What is installed for a root, and what the workspaces of ``sources`` hold."""
    overlay = Path(sources.active_workspace_dir) if sources.active_workspace_dir else None
    return discover(standard_roots([*map(Path, sources.workspaces), root / "workspace"], overlay))


def borrow(catalog: Catalog, servers: Mapping[str, str], workers: int = 1) -> tuple[Catalog, list[Problem]]:
    """The catalog with what the servers have, and a problem for each that cannot be borrowed."""
    if not servers:
        return catalog, []
    from engine.hosting.borrowing import with_servers  # with the HTTP client and numpy

    lent, failures = with_servers(catalog, servers, workers)
    remedy = "lend one that can, or leave it out, and the run starts its own"
    return lent, [
        Problem("bad-server", f"servers.{name}", str(failure), remedy) for name, failure in failures.items()
    ]


def prepare(catalog: Catalog, graph: str | Mapping[str, Any], root: Path) -> Prepared:
    """Read and check a graph: a file, a name, or the graph itself. NotFoundError where there is none."""
    try:
        if isinstance(graph, Mapping):
            name, source = "", "request"
            loaded = parse_graph(graph, source)
        else:
            name, source = _find_graph(catalog, graph)
            loaded = load_graph(source)
    except GraphError as error:
        return Prepared(name, source, None, error.problems)

    nodesets = [catalog.nodesets[name] for name in needed_nodesets(loaded) if name in catalog.nodesets]
    problems = all_problems(loaded, catalog) + model_problems(root, loaded)
    return Prepared(name or loaded.name or Path(source).stem, source, loaded, problems, nodesets)


def _find_graph(catalog: Catalog, wanted: str) -> tuple[str, str]:
    """(Saved name, "" for a file of no catalog; path). NotFoundError names what is near."""
    path = Path(wanted)
    if path.is_file():
        return "", str(path.resolve())
    if wanted in catalog.graphs:
        return wanted, catalog.graphs[wanted]
    if path.suffix == ".json" or path.is_absolute():
        raise NotFoundError(f"there is no graph file {wanted}")
    near = get_close_matches(wanted, catalog.graphs, n=3, cutoff=0.5)
    known = ", ".join(near or sorted(catalog.graphs)) or "none"
    raise NotFoundError(f"no graph is called {wanted!r}; {'near' if near else 'there are'}: {known}")


def check_report(prepared: Prepared) -> CheckReport:
    """What ``check`` answers."""
    return CheckReport(
        graph=prepared.name or Path(prepared.source).stem,
        path=prepared.source,
        problems=prepared.problems,
        nodes=len(prepared.graph.nodes) if prepared.graph else 0,
        nodesets=[
            NodesetUse(
                name=manifest.name,
                path=manifest.path,
                parallelism=manifest.parallelism,
                parallelism_assumed=manifest.parallelism_assumed,
                determinism=manifest.determinism,
            )
            for manifest in prepared.nodesets
        ],
    )


def needs_of(saved: Mapping[str, Any], nodesets: list[NodesetManifest]) -> Needs:
    """What the run will load, as spec.json keeps it."""
    return Needs(
        graph_hash=graph_hash(saved),
        nodesets=[
            NodesetNeed(
                name=manifest.name,
                path=manifest.path,
                source_hash=manifest.source_hash,
                parallelism=manifest.parallelism,
                expected_vram_mb=manifest.expected_vram_mb,
                expected_ram_mb=manifest.expected_ram_mb,
            )
            for manifest in nodesets
        ],
    )


def graph_hash(saved: Mapping[str, Any]) -> str:
    """BLAKE2b-128 hex of a graph's canonical JSON."""
    return blake2b(msgspec.json.encode(saved, order="sorted"), digest_size=16).hexdigest()


def env_nodeset(nodesets: list[NodesetManifest]) -> str | None:
    """The environment among a graph's nodesets: the first that has a panel."""
    return next((manifest.name for manifest in nodesets if manifest.panel is not None), None)
