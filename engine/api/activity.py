"""Who is being served now, and when somebody was last: for an orderly end, and for an idle one."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

from aiohttp import web

from engine.api.auth import OPEN
from engine.api.errors import Handler

QUIET_SEC = 0.3
"""Without a request for so long, those that go on are idle connections, which their clients open anew."""


class Activity:
    """closing: answers end their connections, so that their clients open the next one at the successor."""

    def __init__(self) -> None:
        self.closing = asyncio.Event()
        self._active = 0
        self._free = asyncio.Event()
        self._free.set()
        self._last = self._last_client = time.monotonic()

    @property
    def idle_sec(self) -> float:
        """Seconds since a client was served; 0 while one is. Health checks are no clients."""
        return 0.0 if self._active else time.monotonic() - self._last_client

    def layer(self) -> Any:
        """The layer of the application that counts."""

        @web.middleware
        async def count(request: web.Request, handler: Handler) -> web.StreamResponse:
            self._active += 1
            self._free.clear()
            try:
                response = await handler(request)
            finally:
                self._active -= 1
                self._last = time.monotonic()
                if not self._active:
                    self._free.set()
                if request.path != OPEN:
                    self._last_client = self._last
            if self.closing.is_set() and not response.prepared:
                response.force_close()
            return response

        return count

    async def drained(self, wait_sec: float) -> None:
        """Until nobody has been served for a moment, or ``wait_sec`` are over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_sec):
                while True:
                    await self._free.wait()
                    rest = self._last + QUIET_SEC - time.monotonic()
                    if rest <= 0:
                        return
                    await asyncio.sleep(rest)
