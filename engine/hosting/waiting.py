"""A shared server of the scheduler's that has ended comes back, or has left word why not: on this machine
where it was, on a cluster wherever its folder says then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from engine.components.errors import HostCrashed, HostStartFailed, HostUnreached
from engine.store.attempts import Attempt
from engine.store.rundir import RunDirError
from engine.store.server_folder import CLUSTER, ServerFolder, server_at

T = TypeVar("T")

BACK_SEC = 60.0
"""Beyond the time that its start may take: to notice that it has ended, and for the pauses between tries."""
QUEUED_SEC = 3600.0
"""How long a run holds what it was given of a cluster while its server waits there to begin again."""
UNLOADING_SEC = 15.0
"""Whoever unloads a server looks once more for its users, and takes that back where it finds any."""
_LOOK_EVERY_SEC, _LOOK_AWAY_EVERY_SEC = 0.1, 1.0
"""Here, and on a file system that many share."""


def where(url: str, name: str) -> tuple[str, str]:
    """Where the server at ``url`` answers now, and the token that it wants, if any.

    HostUnreached where that is nowhere at the moment; HostStartFailed where nothing of the kind can be told.
    """
    if not url.startswith(CLUSTER):
        return url, ""
    folder = server_at(url)
    if folder is None:
        told = f"{url.removeprefix(CLUSTER)!r} is no folder of a shared server of this user's"
        raise HostStartFailed(told, name, "start")
    try:
        record = folder.read_record()
        ready = folder.read_ready(record.attempt) if record else None
    except (RunDirError, OSError) as error:
        raise HostStartFailed(str(error), name, "start") from error
    if record is None:
        raise HostStartFailed(f"{folder.record} is not there", name, "start")
    if ready is None:
        told = "loading" if _has_begun(folder) else "waiting for its place on the cluster"
        raise HostUnreached(f"it does not answer: it is still {told}", name, "start")
    return ready.url, ready.token


async def wait_until_back(url: str, ask: Callable[[], Awaitable[T]]) -> T:
    """What ``ask`` gives, asked again while the server at ``url`` is being started again.

    What it raises where that is no such server, or is not back in time, which is counted from when its
    process begins; HostStartFailed where it gave up.
    """
    since: float | None = None
    end = asyncio.get_running_loop().time() + QUEUED_SEC
    while True:
        try:
            return await ask()
        except HostCrashed:
            now = asyncio.get_running_loop().time()
            patience, queued = _patience(url)
            since = now if since is None or queued else since
            if patience == 0.0 or now - since > patience or (queued and now > end):
                raise
        await asyncio.sleep(_LOOK_AWAY_EVERY_SEC if url.startswith(CLUSTER) else _LOOK_EVERY_SEC)


def _patience(url: str) -> tuple[float, bool]:
    """(How long to wait for it, 0 where nobody starts it again; whether it is only waiting to begin)."""
    folder = server_at(url)
    if folder is None:
        return 0.0, False
    try:
        return _patience_with(folder)
    except (RunDirError, OSError):  # for a disk that fails as well
        return 0.0, False


def _patience_with(folder: ServerFolder) -> tuple[float, bool]:
    record = folder.read_record()
    if record is None:
        return 0.0, False
    if end := folder.read_end(record.attempt):
        raise HostStartFailed(end.why, record.nodeset.name, "start")
    if record.stop_requested_at is not None:
        return (UNLOADING_SEC if record.on else 0.0), False
    return record.nodeset.start_deadline_sec + BACK_SEC, bool(record.on) and not _has_begun(folder)


def _has_begun(folder: ServerFolder) -> bool:
    record = folder.read_record()
    return record is not None and Attempt(folder.attempt(record.attempt)).read_shim() is not None
