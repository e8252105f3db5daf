"""Which servers may stand in for a run's own processes, and what the graph then has to do with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from engine.components.catalog import Catalog, NodesetManifest
from engine.components.errors import HostFailure, HostStartFailed
from engine.figures import count
from engine.hosting.borrowed import BorrowedServer
from engine.store.server_folder import CLUSTER


async def until_up(servers: Mapping[str, str], waits: Callable[[str], object]) -> None:
    """Wait for those (nodeset → URL) that a cluster runs; ``waits`` is told which. Raises HostStartFailed."""
    away = {name: url for name, url in servers.items() if url.startswith(CLUSTER)}
    if away:
        waits(", ".join(away))
        await asyncio.gather(*(BorrowedServer.reach(name, url) for name, url in away.items()))


def with_servers(
    catalog: Catalog, servers: Mapping[str, str], workers: int
) -> tuple[Catalog, dict[str, HostFailure]]:
    """The catalog with what these servers (nodeset → URL) have; and, by nodeset, why not where they cannot.

    Asks them all at once, in an event loop of its own: not for a thread that runs one.
    """
    if not servers:
        return catalog, {}
    found = asyncio.run(_all(catalog, servers, workers))
    lent = {name: answer for name, answer in found.items() if isinstance(answer, NodesetManifest)}
    failures = {name: answer for name, answer in found.items() if isinstance(answer, HostFailure)}
    return replace(catalog, nodesets={**catalog.nodesets, **lent}), failures


async def _all(
    catalog: Catalog, servers: Mapping[str, str], workers: int
) -> dict[str, NodesetManifest | HostFailure]:
    async def ask(name: str, url: str) -> NodesetManifest | HostFailure:
        try:
            return await _lent(catalog, name, url, workers)
        except HostFailure as failure:
            return failure

    answers = await asyncio.gather(*(ask(name, url) for name, url in servers.items()))
    return dict(zip(servers, answers, strict=True))


async def _lent(catalog: Catalog, name: str, url: str, workers: int) -> NodesetManifest:
    server = await BorrowedServer.reach(name, url)
    found = await server.manifest(catalog.nodesets.get(name))
    reason = ""
    if name in catalog.changed_by_overlay() and found.source_hash != catalog.nodesets[name].source_hash:
        reason = "the overlay changes it"
    elif found.parallelism == "replicated" and found.recycle_after is not None:
        reason = f"it is to be restarted every {count(found.recycle_after, 'episode')}"
    elif found.parallelism == "replicated" and workers > 1:
        reason = f"it is replicated, and one process cannot serve {workers} workers"
    if reason:
        raise HostStartFailed(f"{url} cannot stand in for {name}: {reason}", name, "manifest")
    return found
