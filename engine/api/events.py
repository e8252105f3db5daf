"""``GET /runs/{id}/events``: server-sent events, each listener as fast as it reads."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import suppress

from aiohttp import web

from engine.api.activity import Activity
from engine.api.feed import Event, Feed, Feeds

FEEDS = web.AppKey("feeds", Feeds)
ACTIVITY = web.AppKey("activity", Activity)

MOST_LISTENERS = 128
WAIT_SEC = 0.25
KEEP_ALIVE_SEC = 10.0
SEND_BUFFER = 1 << 17
STALLED_SEC = 60.0
"""A listener that takes nothing for so long is cut off."""

_HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


async def serve(request: web.Request) -> web.StreamResponse:
    """Begin with a snapshot, go on with what happens, end with ``eval_complete``."""
    feeds = request.app[FEEDS]
    if feeds.listeners >= MOST_LISTENERS:
        raise web.HTTPServiceUnavailable(text=f"{MOST_LISTENERS} clients listen to events already")
    feed, close = await feeds.open(request.match_info["run_id"])
    try:
        response = web.StreamResponse(headers=_HEADERS)
        await response.prepare(request)
        _bound(request)
        try:
            await _tell(feed, response, request.app[ACTIVITY].closing)
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        return response
    finally:
        close()


def _bound(request: web.Request) -> None:
    """Let the kernel hold little for one who does not read: what it gets in the end is then fresh."""
    connection = request.transport.get_extra_info("socket") if request.transport else None
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)


async def _tell(feed: Feed, response: web.StreamResponse, closing: asyncio.Event) -> None:
    event = feed.snapshot()
    quiet_since = time.monotonic()
    await _send(response, _text(event))
    while event.kind != "eval_complete" and not closing.is_set():
        news = feed.after(event.number)
        if news is None:  # it was too slow: one snapshot for all that it missed
            news = [feed.snapshot()]
        elif not news and feed.over:
            return
        for event in news:
            await _send(response, _text(event))
        now = time.monotonic()
        if news:
            quiet_since = now
            continue
        if now - quiet_since > KEEP_ALIVE_SEC:
            await _send(response, b":\n\n")
            quiet_since = now
        await feed.wait(WAIT_SEC)


async def _send(response: web.StreamResponse, data: bytes) -> None:
    """Raises TimeoutError where nobody takes it."""
    with suppress(ConnectionResetError):
        async with asyncio.timeout(STALLED_SEC):
            await response.write(data)


def _text(event: Event) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.number, event.kind.encode(), event.data)
