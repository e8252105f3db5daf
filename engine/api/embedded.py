"""A backend for as long as a command lives, where none is alive."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from engine.api.auth import read_or_make_token
from engine.api.handover import Successor
from engine.api.service import Service
from engine.api.serving import LOOPBACK, Compose, acquire
from engine.api.sockets import Sockets
from engine.api.standby import Standby
from engine.control.backend import Backend
from engine.control.protocol import Control
from engine.control.reports import ControlError

log = logging.getLogger(__name__)

SETTLE_SEC = 5.0
"""Given to runs that have just ended, and to the servers that they used, to be seen to be gone."""


class EmbeddedService:
    """A backend and its service in a thread of this process. Everyone else can use it meanwhile.

    successor_options: of the ``--serve`` that goes on where work is left when this one closes. quick: keep it
    warm while there is work, for somebody who waits for :meth:`close`.
    """

    def __init__(
        self, root: Path, compose: Compose, successor_options: Sequence[str] = (), *, quick: bool = False
    ) -> None:
        self._root = root
        self._compose = compose
        self._options = successor_options
        self._quick = quick
        self._close = threading.Event()
        self._served = threading.Event()
        self._failure: BaseException | None = None
        self._control: Control | None = None
        self._thread = threading.Thread(target=self._run, name="backend", daemon=True)

    def start(self) -> Control:
        """Serve. ConflictError where another backend has the root, ControlError where it cannot be."""
        self._thread.start()
        self._served.wait()
        if self._failure is not None:
            raise self._failure
        assert self._control is not None
        return self._control

    def close(self) -> None:
        """End, or hand over what is queued or runs."""
        self._close.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._served.is_set():
                log.exception("the backend has ended")
            self._failure = error
        finally:
            self._served.set()

    async def _serve(self) -> None:
        lock = acquire(self._root)
        sockets = None
        try:
            sockets = Sockets.open(self._root, LOOPBACK, None)
            token = read_or_make_token(self._root)
            backend, control = self._compose(self._root, lock)
            handed_over = False
            async with Service(backend, control, sockets, token) as service:
                self._control = control
                self._served.set()
                told = asyncio.Event()
                closer = asyncio.create_task(self._tell_when_closed(told))
                standby = Standby(
                    lambda: Successor(self._root, lock.fd, sockets, self._options),
                    lambda: self._quick and not backend.is_idle,
                )
                await service.wait_until_over(told)
                closer.cancel()
                warm = await standby.end()
                if told.is_set() and not await _settled(backend, control):
                    handed_over = await self._hand_over(service, warm)
                elif warm is not None:
                    warm.abandon()
            sockets.close(remove=not handed_over)
        finally:
            lock.close()

    async def _tell_when_closed(self, told: asyncio.Event) -> None:
        await asyncio.to_thread(self._close.wait)
        told.set()

    async def _hand_over(self, service: Service, warm: Successor | None) -> bool:
        try:
            pid = await service.hand_over(self._options, warm)
        except ControlError as error:
            log.error("%s; what runs has its orphan_grace to be taken up by another backend", error)
            return False
        log.info("process %d goes on with what is queued and runs", pid)
        return True


async def _settled(backend: Backend, control: Control) -> bool:
    """Whether nothing is left to do. What has ended by its files is waited for, as its processes end."""
    ends = time.monotonic() + SETTLE_SEC
    while not backend.is_idle:
        if time.monotonic() > ends or await asyncio.to_thread(_works, control):
            return False
        backend.wanted.set()
        await asyncio.sleep(0.1)
    return True


def _works(control: Control) -> bool:
    queue = control.queue()
    return bool(queue.queued) or not all(control.show(run.run_id).is_over for run in queue.running)
