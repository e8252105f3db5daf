"""A run that is played by hand: it waits before each root step until its control socket is told."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from engine.store.play import PlayRequest, PlayState
from engine.store.records import WorkerProgress
from engine.store.strict_json import encode

LAST_ANSWER_SEC = 1.0
"""Given to clients, when the run ends, to read what they were answered."""


class PlayGate:
    """``look``: the one worker, where there is any yet. ``stop`` is called when the run is to end."""

    def __init__(self, look: Callable[[], WorkerProgress | None], stop: Callable[[], None]) -> None:
        self._look = look
        self._stop = stop
        self._steps = 0
        self._free = False
        self._told = asyncio.Event()
        self._waiting_since: float | None = None
        self._waited = 0.0
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.StreamWriter] = set()

    @property
    def waited_sec(self) -> float:
        """How long it has waited to be told, all in all."""
        since = self._waiting_since
        return self._waited + (time.monotonic() - since if since is not None else 0.0)

    async def open(self, folder: Path) -> Path:
        """Listen in a private folder with a short path; where. Raises OSError."""
        path = folder / "play.sock"
        self._server = await asyncio.start_unix_server(self._serve, path)
        os.chmod(path, 0o600)
        return path

    async def close(self) -> None:
        """Listen no more."""
        if self._server is None:
            return
        self._server.close()
        for client in self._clients:
            client.close()
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(LAST_ANSWER_SEC):
                await asyncio.gather(*(c.wait_closed() for c in self._clients), return_exceptions=True)

    async def wait(self) -> None:
        """Wait before the next step, unless steps are left that were asked for."""
        if self._free:
            return
        if self._steps:
            self._steps -= 1
            return
        self._told.clear()
        self._waiting_since = time.monotonic()
        try:
            await self._told.wait()
        finally:
            self._waited, self._waiting_since = self.waited_sec, None

    def take(self, request: PlayRequest) -> PlayState:
        """Do what is asked; how it stands then."""
        waiting = self._waiting_since is not None and not self._told.is_set()
        error = ""
        if request.do == "step" and not waiting:
            error = "it is not waiting: ask again when it has taken the steps before"
        elif request.do == "step":
            self._steps = request.n - 1
            self._told.set()
        elif request.do == "run":
            self._free = True
            self._told.set()
        elif request.do == "stop":
            self._stop()
        return self._state(error)

    def _state(self, error: str = "") -> PlayState:
        worker = self._look()
        waiting = self._waiting_since is not None and not self._told.is_set()
        if worker is None:
            return PlayState(waiting=waiting, error=error)
        return PlayState(
            waiting=waiting, step=worker.step, budget=worker.budget, node=worker.node, error=error
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.add(writer)
        try:
            while line := await reader.readline():
                writer.write(encode(self._answer(line)) + b"\n")
                await writer.drain()
        except (OSError, ValueError):  # it went away, or sent a line without end
            pass
        finally:
            self._clients.discard(writer)
            writer.close()

    def _answer(self, line: bytes) -> PlayState:
        try:
            request = msgspec.json.decode(line, type=PlayRequest)
        except msgspec.MsgspecError as error:
            return self._state(f'not {{"do": "step" | "run" | "stop" | "state", "n": 1}}: {error}')
        return self.take(request)
