"""What the doubles of platforms that are written to share: a real HTTP server that keeps what it was sent."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import web

Act = Callable[[web.Request, "SinkServer"], Awaitable[web.StreamResponse]]


@dataclass
class Seen:
    """A request as it came. parts: name → JSON of a multipart body."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any = None
    parts: dict[str, Any] = field(default_factory=dict)
    size: int = 0


@dataclass
class SinkServer:
    """``acts``: what is done instead with the next requests to paths that end so."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    acts: list[tuple[str, Act]] = field(default_factory=list)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    inside: int = 0
    most_at_once: int = 0

    def answer(self, seen: Seen) -> tuple[int, Any]:
        """Status and JSON; text is sent as it is."""
        raise NotImplementedError

    def then(self, path: str, *acts: Act) -> None:
        self.acts += [(path, act) for act in acts]

    def sent(self, path: str, method: str = "POST") -> list[Seen]:
        return [seen for seen in self.seen if seen.path.endswith(path) and seen.method == method]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        seen = await _read(request)
        self.seen.append(seen)
        self.inside += 1
        self.most_at_once = max(self.most_at_once, self.inside)
        try:
            for index, (path, act) in enumerate(self.acts):
                if seen.path.endswith(path):
                    del self.acts[index]
                    return await act(request, self)
            status, data = self.answer(seen)
        finally:
            self.inside -= 1
        if isinstance(data, str):
            return web.Response(status=status, text=data)
        return web.json_response(data, status=status)


def says(status: int, data: Any = "") -> Act:
    async def act(request: web.Request, server: SinkServer) -> web.StreamResponse:
        return web.Response(status=status, text=data if isinstance(data, str) else json.dumps(data))

    return act


def hangs() -> Act:
    """No answer before the server ends."""

    async def act(request: web.Request, server: SinkServer) -> web.StreamResponse:
        await server.closing.wait()
        return web.Response(status=200)

    return act


def dies() -> Act:
    """The connection ends in the middle of an answer."""

    async def act(request: web.Request, server: SinkServer) -> web.StreamResponse:
        response = web.StreamResponse(status=200, headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"half')
        assert request.transport is not None
        request.transport.abort()
        return response

    return act


AServer = TypeVar("AServer", bound=SinkServer)


@asynccontextmanager
async def running(server: AServer) -> AsyncIterator[AServer]:
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}"
    try:
        yield server
    finally:
        server.closing.set()
        await runner.cleanup()


async def _read(request: web.Request) -> Seen:
    seen = Seen(request.method, request.path, dict(request.query), dict(request.headers))
    if request.content_type == "multipart/form-data":
        async for part in await request.multipart():
            seen.parts[str(part.name)] = json.loads(await part.read())
        return seen
    raw = await request.read()
    seen.size = len(raw)
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    try:
        seen.body = json.loads(raw) if raw else None
    except ValueError:
        seen.body = raw
    return seen
