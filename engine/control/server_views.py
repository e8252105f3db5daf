"""Nodesets as they are served: what is installed, what is loaded, for whom; loading and unloading."""

from __future__ import annotations

from engine.components.catalog import Catalog, NodesetManifest
from engine.control.backend import Backend
from engine.control.checking import need_of
from engine.control.queue_reports import ServerReport
from engine.control.reports import ConflictError, NotFoundError
from engine.scheduling.launchers.slurm.servers import ClusterServer
from engine.scheduling.need import server_key
from engine.scheduling.tenancy import Server
from engine.scheduling.tick import Scheduler


def server_reports(backend: Backend, catalog: Catalog) -> list[ServerReport]:
    """Every nodeset by its name, and every server that runs: one of another source counts by itself."""
    with backend.reading() as scheduler:
        loaded = dict(scheduler.tenants.servers)
        reports = []
        for manifest in sorted(catalog.nodesets.values(), key=lambda manifest: manifest.name):
            server = loaded.pop(server_key(need_of(manifest)), None)
            reports.append(_loaded(scheduler, server) if server else _installed(scheduler, manifest))
        reports += [_loaded(scheduler, server) for server in loaded.values()]
    reports += [_elsewhere(server) for server in backend.cluster_servers()]
    reports += [
        ServerReport(name=failure.path, parallelism="replicated", state="failed", detail=failure.error)
        for failure in catalog.failures
    ]
    return reports


def _elsewhere(server: ClusterServer) -> ServerReport:
    job = f"job {server.job_id}" if server.job_id else ""
    where = " ".join(filter(None, [server.on, job, f"on {server.node}" if server.node else ""]))
    return ServerReport(
        name=server.name,
        parallelism="shared",
        state="loading" if server.state == "waiting" else server.state,
        detail=f"{where}: {server.detail}" if server.detail else where,
        key=server.key,
        url=server.url,
        users=server.users,
    )


def load(backend: Backend, catalog: Catalog, name: str) -> ServerReport:
    """Load it, or keep the one that runs. ConflictError where it cannot be, with numbers."""
    manifest = _find(catalog, name)
    if manifest.parallelism != "shared":
        raise ConflictError(
            f"nodeset {name!r} is not shared: every worker of a run has its own process of it"
        )
    need = need_of(manifest)
    with backend.access() as scheduler:
        backend.refuse_if_closed()
        if reason := scheduler.keep_server(need):
            raise ConflictError(str(reason))
        server = scheduler.tenants.servers.get(server_key(need))
        if server is None:
            raise ConflictError(
                f"{name} did not start: {scheduler.tenants.failed.get(name, 'no reason given')}"
            )
        return _loaded(scheduler, server)


def unload(backend: Backend, catalog: Catalog, name: str) -> ServerReport:
    """Let every server of it go after its last user. ConflictError where none is loaded."""
    with backend.access() as scheduler:
        servers = [server for server in scheduler.tenants.servers.values() if server.name == name]
        if not servers:
            _find(catalog, name)
            raise ConflictError(f"nodeset {name!r} is not loaded")
        for server in servers:
            scheduler.release_server(server.key)
        return _loaded(scheduler, servers[0])


def _find(catalog: Catalog, name: str) -> NodesetManifest:
    if name not in catalog.nodesets:
        known = ", ".join(sorted(catalog.nodesets)) or "none"
        raise NotFoundError(f"no nodeset is called {name!r}; there are: {known}")
    return catalog.nodesets[name]


def _installed(scheduler: Scheduler, manifest: NodesetManifest) -> ServerReport:
    why = scheduler.tenants.failed.get(manifest.name, "")
    return ServerReport(
        name=manifest.name,
        parallelism=manifest.parallelism,
        state="failed" if why else "installed",
        detail=why,
    )


def _loaded(scheduler: Scheduler, server: Server) -> ServerReport:
    return ServerReport(
        name=server.name,
        parallelism="shared",
        state="unloading" if server.ending else "ready" if server.ready else "loading",
        key=server.key,
        url=server.url if server.ready else "",
        pid=server.pid,
        kept=server.entry.kept,
        users=[run.run_id for run in scheduler.tenants.users(server.key)],
        gpus=list(server.entry.seated.cards),
        memory_mb=dict(scheduler.usage.shown.get(server.key, {})),
    )
