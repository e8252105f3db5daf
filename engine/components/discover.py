"""Find the nodesets of all roots: scan what the cache does not hold, then decide which has each name."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from engine.components.catalog import Catalog, HiddenNodeset, NodesetManifest, ScanFailure
from engine.components.loading import source_hash
from engine.components.manifest_cache import CacheEntry, ManifestCache, default_cache_dir, ports_key
from engine.components.roots import NodesetRoot, candidates, graph_files
from engine.components.scan import ScanReport, ScanRequest
from engine.graph.model import Node, Ports

SCAN_DEADLINE = 30.0
ENDLESS_SEC = 120.0
"""So long an import that took too long is not tried again, unless its file changes."""


def discover(
    roots: Sequence[NodesetRoot], cache_dir: Path | None = None, deadline: float = SCAN_DEADLINE
) -> Catalog:
    """The catalog of these roots, the first to have a name before the others.

    ``deadline`` in seconds, for each file. What fails is in ``Catalog.failures``, is tried again by the next
    discovery (what takes too long: later), and takes nothing else along. A file that fails keeps its name
    (its stem) from later roots, so that a broken nodeset is never silently replaced by one that it hid.
    """
    cache = ManifestCache(cache_dir or default_cache_dir())
    homes = {root: candidates(root) for root in roots}
    requests = [
        ScanRequest(path=str(home), workspaces=_workspaces_after(root, roots))
        for root, found in homes.items()
        for home in found
    ]
    reports = _reports(requests, cache, deadline)
    nodesets: dict[str, NodesetManifest] = {}
    failures: list[ScanFailure] = []
    hidden: list[HiddenNodeset] = []
    taken: dict[str, str] = {}
    for root in roots:
        named = _by_name(root, homes[root], reports)
        for name, found in named.items():
            if name in taken:
                hidden += [
                    HiddenNodeset(name, m.path, m.origin, hidden_by=taken[name], source_hash=m.source_hash)
                    for m in found
                ]
                continue
            taken[name] = found[0].path
            if len(found) == 1:
                nodesets[name] = found[0]
            else:
                failures += _ambiguous(found)
        for home in homes[root]:
            for error in reports[home].errors:
                failures.append(ScanFailure(str(home), error, root.origin))
                taken.setdefault(home.stem, str(home))
    return Catalog(
        nodesets,
        tuple(failures),
        tuple(hidden),
        _graphs(roots, nodesets.values()),
        resolve_dynamic=_port_resolver(cache, deadline),
    )


def _workspaces_after(root: NodesetRoot, roots: Sequence[NodesetRoot]) -> tuple[str, ...]:
    """What a nodeset sees behind its own workspace: those of lower rank, never an overlay over it."""
    later = roots[roots.index(root) + 1 :]
    return tuple(str(other.workspace) for other in later if other.workspace is not None)


def _reports(
    requests: Iterable[ScanRequest], cache: ManifestCache, deadline: float
) -> dict[Path, ScanReport]:
    """A report a file or folder, its manifests complete with source hash and workspaces."""
    reports: dict[Path, ScanReport] = {}
    unknown: dict[Path, tuple[ScanRequest, str]] = {}
    for request in requests:
        home = Path(request.path)
        try:
            hashed = source_hash(home)
        except OSError as error:
            reports[home] = ScanReport(errors=(f"it cannot be read: {error}",))
            continue
        entry = cache.read(home, hashed)
        if entry is None:
            unknown[home] = (request, hashed)
        elif entry.endless:
            reports[home] = ScanReport(errors=(entry.endless,))
        else:
            reports[home] = ScanReport(manifests=_placed(entry.manifests, workspaces=request.workspaces))
    scanned = _scanned([request for request, _ in unknown.values()], deadline)
    for (home, (request, hashed)), report in zip(unknown.items(), scanned, strict=True):
        manifests = _placed(report.manifests, source_hash=hashed, workspaces=request.workspaces)
        reports[home] = structs.replace(report, manifests=manifests)
        if not report.errors:
            cache.write(home, hashed, CacheEntry(key=cache.key(hashed), manifests=manifests))
        elif report.endless:
            told = f"{report.errors[0]}; tried again {ENDLESS_SEC:g} s later, or once it is changed"
            until = time.time() + ENDLESS_SEC
            cache.write(home, hashed, CacheEntry(key=cache.key(hashed), endless=told, until=until))
    return reports


def _placed(manifests: Iterable[NodesetManifest], **where: Any) -> tuple[NodesetManifest, ...]:
    return tuple(structs.replace(manifest, **where) for manifest in manifests)


def _scanned(requests: Sequence[ScanRequest], deadline: float) -> list[ScanReport]:
    if not requests:
        return []
    from engine.components.scan_process import run_scans

    return run_scans(requests, deadline)


def _by_name(
    root: NodesetRoot, homes: Sequence[Path], reports: dict[Path, ScanReport]
) -> dict[str, list[NodesetManifest]]:
    named: dict[str, list[NodesetManifest]] = {}
    for home in homes:
        beside = home if home.is_dir() else home.parent
        graphs = tuple(map(str, graph_files(beside / "graphs")))
        for manifest in reports[home].manifests:
            found = structs.replace(manifest, origin=root.origin, graphs=graphs)
            named.setdefault(found.name, []).append(found)
    return named


def _ambiguous(found: Sequence[NodesetManifest]) -> list[ScanFailure]:
    where = " and ".join(f"class {m.class_name} in {m.path}" for m in found)
    error = f"nodeset {found[0].name!r} is declared by {where}: rename all but one"
    return [ScanFailure(path, error, found[0].origin) for path in dict.fromkeys(m.path for m in found)]


def _graphs(roots: Sequence[NodesetRoot], nodesets: Iterable[NodesetManifest]) -> dict[str, str]:
    """Saved graphs by name: the path below their folder without ``.json``, or its last part where one has it.

    A root's graphs come before those of the next, by whichever of their names they are asked for.
    """
    graphs: dict[str, str] = {}
    for root in roots:
        files = graph_files(root.graphs) if root.graphs is not None else []
        for file in files:
            graphs.setdefault(file.relative_to(root.graphs or "").with_suffix("").as_posix(), str(file))
        stems = Counter(file.stem for file in files)
        for file in files:
            if stems[file.stem] == 1:
                graphs.setdefault(file.stem, str(file))
    for nodeset in nodesets:
        for path in nodeset.graphs:
            graphs.setdefault(Path(path).stem, path)
    return graphs


def _port_resolver(cache: ManifestCache, deadline: float) -> Callable[[NodesetManifest, Node], Ports]:
    """Asks a tool for its ports in a scan process, once a config; the cache on disk keeps the answer."""
    known: dict[str, Ports] = {}

    def resolve(manifest: NodesetManifest, node: Node) -> Ports:
        config = {**manifest.tools[node.type].default_config, **node.config}
        key = ports_key(node.type, config)
        if key in known:
            return known[key]
        home = Path(manifest.path)
        entry = cache.read(home, manifest.source_hash)
        ports = entry.ports.get(key) if entry else None
        if ports is None:
            request = ScanRequest(
                path=manifest.path,
                workspaces=manifest.workspaces,
                nodeset=manifest.name,
                node_type=node.type,
                config=config,
            )
            report = _scanned([request], deadline)[0]
            if report.ports is None:
                raise ValueError(f"{manifest.path}: " + "; ".join(report.errors))
            ports = report.ports
            if entry:
                kept = structs.replace(entry, ports={**entry.ports, key: ports})
                cache.write(home, manifest.source_hash, kept)
        known[key] = ports.ports()
        return known[key]

    return resolve
