"""A successor that is warm before it is needed, so that handing over keeps nobody waiting."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from engine.api.handover import Successor
from engine.control.reports import ControlError

log = logging.getLogger(__name__)

_LOOK_SEC = 0.5


class Standby:
    """Makes the successor once ``is_needed``, beside what goes on. Made within a loop; :meth:`end` it always.

    Where this process is killed, the successor goes on by itself: what runs does not wait for an operator.
    """

    def __init__(self, make: Callable[[], Successor], is_needed: Callable[[], bool]) -> None:
        self._make = make
        self._is_needed = is_needed
        self._over = asyncio.Event()
        self._made = asyncio.create_task(self._watch())

    async def end(self) -> Successor | None:
        """What was made, if it lives: the caller's from now on."""
        self._over.set()
        successor = await self._made
        if successor is not None and not successor.is_alive:
            successor.abandon()
            return None
        return successor

    async def _watch(self) -> Successor | None:
        while not self._is_needed():
            try:
                async with asyncio.timeout(_LOOK_SEC):
                    await self._over.wait()
            except TimeoutError:
                continue
            return None
        try:
            return await asyncio.to_thread(self._make)
        except ControlError as error:
            log.warning("%s; it will be tried again when it is needed", error)
            return None
