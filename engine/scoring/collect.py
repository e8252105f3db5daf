"""Wait for a trace that its platform does not have yet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from engine.scoring.sources.base import TraceSource
from engine.scoring.spans import Event

ATTEMPTS = 3
WAIT_SEC = 2.0


async def collect(
    source: TraceSource,
    run_id: str,
    *,
    attempts: int = ATTEMPTS,
    wait_sec: float = WAIT_SEC,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> list[Event]:
    """The events of a run, none where after all ``attempts`` there is nothing.

    Only emptiness is tried again: a CollectError is passed on at once.
    """
    for attempt in range(attempts):
        if attempt:
            await sleep(wait_sec)
        if events := await source.fetch(run_id):
            return events
    return []
