"""A graph, by file or by name, with all that is wrong with it and what it will need."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import msgspec

from engine.components.catalog import Catalog, NodesetManifest
from engine.components.checking import all_problems, needed_nodesets
from engine.components.discover import discover
from engine.components.hook_files import FILE as HOOKS_FILE
from engine.components.hook_files import global_hooks
from engine.components.roots import roots_of
from engine.control.hook_trust import is_trusted
from engine.control.model_problems import model_problems
from engine.control.needs import unmet_needs
from engine.control.reports import (
    NOTHING_MORE,
    CheckReport,
    HookUse,
    Missing,
    NodesetUse,
    NotFoundError,
    Sources,
)
from engine.control.selections import selection_warnings
from engine.graph.expand import expand
from engine.graph.hooks import enabled_hooks, hook_warnings
from engine.graph.model import Graph, GraphError, Hook, Problem
from engine.graph.read import dump_graph, load_graph, parse_graph
from engine.store.records import Needs, NodesetNeed


@dataclass(frozen=True)
class Prepared:
    """A graph that was looked at. ``graph`` is None where it could not even be read.

    ``missing``: what it needs that is not installed; ``unmet``: the problems that say no more than that.
    """

    name: str
    source: str
    graph: Graph | None
    problems: list[Problem]
    nodesets: list[NodesetManifest] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    unmet: list[Problem] = field(default_factory=list)

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in (*self.unmet, *self.problems) if problem.severity == "error"]

    @property
    def hooks(self) -> list[Hook]:
        """The hooks that are the graph's own."""
        return enabled_hooks(expand(self.graph).graph) if self.graph is not None else []

    @property
    def hooks_trusted(self) -> bool:
        return not self.hooks or (self.graph is not None and is_trusted(graph_hash(dump_graph(self.graph))))


def open_catalog(root: Path, sources: Sources = NOTHING_MORE) -> Catalog:
    """What is installed for a root, and what the workspaces of ``sources`` hold."""
    return discover(roots_of(root, sources.workspaces, sources.active_workspace_dir))


def workspace_hooks(root: Path, sources: Sources = NOTHING_MORE) -> tuple[Sequence[Hook], list[Problem]]:
    """The hooks that every run of these sources has, and why they cannot be read, or would never run."""
    try:
        hooks = global_hooks(roots_of(root, sources.workspaces, sources.active_workspace_dir))
    except GraphError as error:
        return (), error.problems
    warnings = hook_warnings(hook for hook in hooks if hook.enabled)
    return hooks, [replace(told, where=f"{HOOKS_FILE}, {told.where}") for told in warnings]


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


def prepare(
    catalog: Catalog,
    graph: str | Mapping[str, Any],
    root: Path,
    called: str = "",
    selected: Sequence[Mapping[str, Any]] = (),
) -> Prepared:
    """Read and check a graph: a file, a name, or the graph itself, ``called`` so where it has no name.

    ``selected``: what its episodes select, where that is known. NotFoundError where there is none.
    """
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
    problems = [
        *all_problems(loaded, catalog),
        *model_problems(root, loaded),
        *selection_warnings(loaded, catalog),
    ]
    missing, unmet, others = unmet_needs(loaded, catalog, problems, selected)
    name = name or loaded.name or (called if isinstance(graph, Mapping) else "") or Path(source).stem
    return Prepared(name, source, loaded, others, nodesets, missing, unmet)


def _find_graph(catalog: Catalog, wanted: str) -> tuple[str, str]:
    """(Saved name, "" for a file of no catalog; path). NotFoundError names what is near."""
    path = Path(wanted)
    # Not Path's tests, which raise for a name that is too long for a file. Of a link that leads nowhere, that
    # is told.
    if os.path.isfile(wanted) or os.path.islink(wanted):
        return "", str(path.resolve())
    if wanted in catalog.graphs:
        return wanted, catalog.graphs[wanted]
    if path.suffix == ".json" or path.is_absolute():
        raise NotFoundError(f"there is no graph file {wanted}")
    near = get_close_matches(wanted, catalog.graphs, n=3, cutoff=0.5)
    known = ", ".join(near or sorted(catalog.graphs)) or "none"
    raise NotFoundError(f"no graph is called {wanted!r}; {'near' if near else 'there are'}: {known}")


def check_report(prepared: Prepared, everywhere: Sequence[Hook] = ()) -> CheckReport:
    """What ``check`` answers. ``everywhere``: the workspace's hooks."""
    hooks = [_hook_use(hook, "workspace") for hook in everywhere if hook.enabled]
    return CheckReport(
        graph=prepared.name or Path(prepared.source).stem,
        path=prepared.source,
        problems=prepared.problems,
        loads=prepared.graph is not None,
        nodes=len(prepared.graph.nodes) if prepared.graph else 0,
        missing=prepared.missing,
        hooks=hooks + [_hook_use(hook, "graph") for hook in prepared.hooks],
        hooks_trusted=prepared.hooks_trusted,
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


def _hook_use(hook: Hook, origin: Literal["workspace", "graph"]) -> HookUse:
    matches = hook.match_node_id or hook.match_node_type
    return HookUse(event=hook.event, command=hook.command, matches=matches, origin=origin)


def hook_problems(prepared: Prepared) -> list[Problem]:
    """What a start would run that nobody has allowed: one for each of the graph's hooks."""
    remedy = "look at what it does, then --trust-hooks"
    return [
        Problem("untrusted-hook", f"hook on {hook.event!r}", f"would run {hook.command!r} as you", remedy)
        for hook in prepared.hooks
    ]


def needs_of(saved: Mapping[str, Any], nodesets: list[NodesetManifest]) -> Needs:
    """What the run will load, as spec.json keeps it: not what others have loaded, and it borrows."""
    return Needs(
        graph_hash=graph_hash(saved),
        nodesets=[need_of(manifest) for manifest in nodesets if manifest.origin != "server"],
    )


def need_of(manifest: NodesetManifest) -> NodesetNeed:
    """What it takes to start a nodeset's process."""
    return NodesetNeed(
        name=manifest.name,
        path=manifest.path,
        source_hash=manifest.source_hash,
        parallelism=manifest.parallelism,
        expected_vram_mb=manifest.expected_vram_mb,
        expected_ram_mb=manifest.expected_ram_mb,
        python=manifest.server_python or "",
        env=manifest.env,
        workspaces=manifest.workspaces,
        start_deadline_sec=manifest.start_deadline_sec,
        call_deadline_sec=manifest.call_deadline_sec,
        scenes_are_tasks=manifest.scenes_are_tasks,
    )


def graph_hash(saved: Mapping[str, Any]) -> str:
    """BLAKE2b-128 hex of a graph's canonical JSON."""
    return blake2b(msgspec.json.encode(saved, order="sorted"), digest_size=16).hexdigest()
