"""A live backend: its ticks, and its verbs for whoever may call. Owns no signals.

It ends when it is told to, or, once it was handed over, when nobody has needed it for a while; or it hands
over to a successor, in a new session, which inherits the lock and the listening sockets: connections that
come meanwhile wait in their queues, and none is refused.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Sequence

from aiohttp import web

from engine.api.activity import Activity
from engine.api.answers import Health
from engine.api.app import create_app
from engine.api.handover import Successor
from engine.api.sockets import Sockets
from engine.control.backend import Backend
from engine.control.protocol import Control
from engine.control.reports import ControlError

log = logging.getLogger(__name__)

IDLE_SEC = 600.0
"""A backend that was handed over ends after so long without queue, runs or clients."""

DRAIN_SEC = 5.0
END_SEC = 10.0
"""Given to requests that are being answered when it ends."""

_WATCH_SEC = 0.2
_TICK_END_SEC = 30.0


class Service:
    """Serves ``backend`` through ``control``. idle_sec: None is to stay until told to end.

    Use as ``async with``: within it is served; at its end, unless it has handed over, the backend has ended.
    The sockets stay the caller's.
    """

    def __init__(
        self,
        backend: Backend,
        control: Control,
        sockets: Sockets,
        token: str | None,
        *,
        idle_sec: float | None = None,
    ) -> None:
        self.sockets = sockets
        self._backend = backend
        self._idle_sec = idle_sec
        self._activity = Activity()
        record = backend.record
        health = Health(version=record.version, pid=os.getpid(), root=str(backend.root))
        app = create_app(control, health, self._activity, token)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=END_SEC)
        self._no_more_ticks = threading.Event()
        self._ticks = threading.Thread(
            target=backend.run_ticks, args=(self._no_more_ticks,), name="ticks", daemon=True
        )
        self._left = False

    async def __aenter__(self) -> Service:
        await self._runner.setup()
        for listener in (self.sockets.tcp, self.sockets.unix):
            # Its own copy is closed when it stops to accept; the original may be handed over then.
            await web.SockSite(self._runner, listener.dup()).start()
        await asyncio.to_thread(self._backend.announce, self.sockets.url, self.sockets.path)
        self._ticks.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        if not self._left:
            await asyncio.to_thread(self._backend.end, cancel=False)
            await self.leave()
            await asyncio.to_thread(self._backend.close, ended=True)

    async def wait_until_over(self, told: asyncio.Event) -> None:
        """Until ``told`` is set, or the backend is to end by itself."""
        while not (told.is_set() or self._backend.may_end or self._is_unneeded()):
            try:
                async with asyncio.timeout(_WATCH_SEC):
                    await told.wait()
            except TimeoutError:
                continue

    def _is_unneeded(self) -> bool:
        idle = self._idle_sec is not None and self._activity.idle_sec > self._idle_sec
        return idle and self._backend.is_idle

    async def hand_over(self, options: Sequence[str] = (), warm: Successor | None = None) -> int:
        """Let another process go on, and give its pid. ``options``: of its ``--serve``. ``warm``: that one,
        where it is there already.

        ControlError where it does not begin; what was left then stays left.
        """
        backend = self._backend
        lock = backend.lock.fd
        if warm is None:
            warm = await asyncio.to_thread(Successor, backend.root, lock, self.sockets, options)
        successor = warm
        try:
            await self.leave()
            # A verb that has outlived its caller must not write over what the successor writes.
            await asyncio.to_thread(backend.end, cancel=False)
            if self._ticks.is_alive():
                raise ControlError(f"the last tick has not ended in {_TICK_END_SEC:.0f} s")
            await asyncio.to_thread(backend.close)
            await asyncio.to_thread(backend.name_successor, successor.pid)
            await asyncio.to_thread(successor.go)
        except BaseException:
            successor.abandon()
            raise
        return successor.pid

    async def leave(self) -> None:
        """Answer who is here, accept nobody, tick no more. Nobody is refused before."""
        self._left = True
        self._activity.closing.set()
        for site in list(self._runner.sites):
            await site.stop()
        await self._activity.drained(DRAIN_SEC)
        self._no_more_ticks.set()
        self._backend.wanted.set()
        await asyncio.to_thread(self._ticks.join, _TICK_END_SEC)
        await self._runner.cleanup()
