"""What the doubles of trace platforms share: a real HTTP server that keeps what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import web


@dataclass
class Asked:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Double:
    """``lets_in``: a header, and its value, that every request must have. ``instead``: path → an answer given
    there in place of the double's own."""

    lets_in: tuple[str, str] | None = None
    instead: dict[str, tuple[int, Any]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    hangs: bool = False
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    def routes(self) -> Iterable[web.RouteDef]:
        return ()

    @property
    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]


D = TypeVar("D", bound=Double)


@asynccontextmanager
async def running(double: D) -> AsyncIterator[D]:
    """The double on a port of its own, gone at the end."""

    @web.middleware
    async def first(request: web.Request, handler: Any) -> web.StreamResponse:
        data = await request.read()
        body = json.loads(data) if request.content_type == "application/json" and data else data
        headers = dict(request.headers)
        double.asked.append(Asked(request.method, request.path, dict(request.query), headers, body))
        if double.hangs:
            await double.gone.wait()
        if double.lets_in is not None and request.headers.get(double.lets_in[0]) != double.lets_in[1]:
            return web.Response(status=401, text=f"not let in with {headers}")
        if request.path in double.instead:
            return answer(*double.instead[request.path])
        response: web.StreamResponse = await handler(request)
        return response

    app = web.Application(middlewares=[first], client_max_size=2**26)
    app.add_routes(double.routes())
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        double.url = f"http://{host}:{port}"
        yield double
    finally:
        double.gone.set()
        await runner.cleanup()


def answer(status: int, content: Any) -> web.Response:
    """JSON, or what is text or bytes as it is."""
    if isinstance(content, bytes):
        return web.Response(status=status, body=content)
    if isinstance(content, str):
        return web.Response(status=status, text=content)
    return web.json_response(content, status=status)


def page_of(items: list[Any], cursor: str | None, size: int) -> tuple[list[Any], str | None]:
    """A page from a cursor on, and the cursor of the next."""
    start = int(cursor or 0)
    return items[start : start + size], str(start + size) if start + size < len(items) else None
