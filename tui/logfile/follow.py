"""A log that is still written: its size is asked for now and then, which works on NFS too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Literal

from tui.logfile.index import LogIndex

Change = Literal["grown", "replaced"]


async def follow(index: LogIndex, every: float = 0.5) -> AsyncGenerator[Change]:
    """``grown`` when rows were added, ``replaced`` when the path holds another file, after which it ends.

    The index is extended here, in a thread, and first to the file's end as it is: nobody else extends it
    meanwhile. ``every``: seconds between two looks.
    """
    while True:
        before = index.rows
        if await asyncio.to_thread(index.is_replaced):
            yield "replaced"
            return
        if index.file_size() > index.size:
            await extend(index)
            if index.rows > before:
                yield "grown"
        await asyncio.sleep(every)


async def extend(index: LogIndex) -> None:
    """Index all that is there, in a thread, which ends soon after this is cancelled."""
    cancelled = False
    try:
        await asyncio.to_thread(index.extend, lambda: cancelled)
    finally:
        cancelled = True
