"""A shared server of the scheduler's that has ended comes back where it was, or has left word why not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from engine.components.errors import HostCrashed, HostStartFailed
from engine.store.rundir import RunDirError
from engine.store.server_folder import ServerFolder, server_at

T = TypeVar("T")

BACK_SEC = 60.0
"""Beyond the time that its start may take: to notice that it has ended, and for the pauses between tries."""
_LOOK_EVERY_SEC = 0.1


async def wait_until_back(url: str, ask: Callable[[], Awaitable[T]]) -> T:
    """What ``ask`` gives, asked again while the server at ``url`` is being started again.

    What it raises where that is no such server, or is not back in time; HostStartFailed where it gave up.
    """
    until: float | None = None
    while True:
        try:
            return await ask()
        except HostCrashed:
            now = asyncio.get_running_loop().time()
            patience = _patience_sec(url)
            until = now + patience if until is None else until
            if patience == 0.0 or now > until:
                raise
        await asyncio.sleep(_LOOK_EVERY_SEC)


def _patience_sec(url: str) -> float:
    """0 where nobody starts it again."""
    folder = server_at(url)
    if folder is None:
        return 0.0
    try:
        return _patience_with(folder)
    except (RunDirError, OSError):  # for a disk that fails as well
        return 0.0


def _patience_with(folder: ServerFolder) -> float:
    record = folder.read_record()
    if record is None or record.stop_requested_at is not None:
        return 0.0
    if end := folder.read_end(record.attempt):
        raise HostStartFailed(end.why, record.nodeset.name, "start")
    return record.nodeset.start_deadline_sec + BACK_SEC
