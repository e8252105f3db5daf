"""The application: every route over one control, behind the guard."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from concurrent.futures import Executor, ThreadPoolExecutor

from aiohttp import web

from engine.api import docs_page, names
from engine.api.activity import Activity
from engine.api.answers import Health
from engine.api.auth import guard
from engine.api.bodies import Body
from engine.api.decoding import read_body, read_query
from engine.api.endpoint import Call, Endpoint, File, Made
from engine.api.errors import Handler, answer, errors_as_json
from engine.api.events import ACTIVITY, FEEDS
from engine.api.feed import Feeds
from engine.api.openapi import document
from engine.api.table import ENDPOINTS, SECTIONS
from engine.control.protocol import Control

BODY_BYTES = 16 << 20
"""A graph in a request is the largest thing that anyone sends."""

QUICK_THREADS, SLOW_THREADS = 16, 8
"""Verbs that may take seconds have threads of their own, so that they never hold up the others."""

_PIECE_BYTES = 1 << 18
_ASSET_POLICY = "default-src 'none'; sandbox"


def create_app(control: Control, health: Health, activity: Activity, token: str | None) -> web.Application:
    """``token`` None: whoever can reach the port may call."""
    app = web.Application(
        middlewares=[errors_as_json, activity.layer(), guard(token)], client_max_size=BODY_BYTES
    )
    app[ACTIVITY] = activity
    app[FEEDS] = Feeds(control)
    quick = ThreadPoolExecutor(QUICK_THREADS, thread_name_prefix="api")
    slow = ThreadPoolExecutor(SLOW_THREADS, thread_name_prefix="api slow")
    for endpoint in ENDPOINTS:
        handler = endpoint.stream or _handler(endpoint, control, health, slow if endpoint.slow else quick)
        app.router.add_route(endpoint.method, _pattern(endpoint), handler)
    _add_documentation(app, health.version)

    async def pools(app: web.Application) -> AsyncIterator[None]:
        yield
        for pool in (quick, slow):
            pool.shutdown(wait=False, cancel_futures=True)

    app.cleanup_ctx.append(pools)
    return app


def _pattern(endpoint: Endpoint) -> str:
    """A saved graph's name may hold folders."""
    if endpoint.path.startswith("/api/graphs/"):
        return endpoint.path.replace("{name}", "{name:.+}")
    return endpoint.path


def _handler(endpoint: Endpoint, control: Control, health: Health, pool: Executor) -> Handler:
    act = endpoint.act
    assert act is not None

    async def handle(request: web.Request) -> web.StreamResponse:
        query = read_query(request.query, endpoint.query)
        body = await read_body(request, endpoint.body or Body) if endpoint.method != "GET" else None
        if endpoint.method != "GET" and "run_id" in request.match_info:
            names.changeable_run(request.match_info["run_id"])
        call = Call(control, health, request.match_info, query, body)
        found = await asyncio.get_running_loop().run_in_executor(pool, act, call)
        if isinstance(found, Made):
            return await _made(request, found, pool)
        return _file(found) if isinstance(found, File) else answer(found)

    return handle


async def _made(request: web.Request, found: Made, pool: Executor) -> web.StreamResponse:
    headers = {
        "Content-Type": found.media,
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": f"{found.policy}; sandbox" if found.policy else _ASSET_POLICY,
        "Cache-Control": "no-store",
    }
    response = web.StreamResponse(headers=headers)
    with tempfile.TemporaryFile() as file:
        await asyncio.get_running_loop().run_in_executor(pool, found.write, file)
        response.content_length = file.seek(0, os.SEEK_END)
        file.seek(0)
        await response.prepare(request)
        while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
            await response.write(piece)
    await response.write_eof()
    return response


def _file(found: File) -> web.FileResponse:
    headers = {
        "Content-Type": found.media,
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": _ASSET_POLICY,
    }
    if found.media == "application/octet-stream":
        headers["Content-Disposition"] = "attachment"
    return web.FileResponse(found.path, headers=headers)


def _add_documentation(app: web.Application, version: str) -> None:
    openapi = document(SECTIONS, version)
    page = docs_page.page(openapi)

    async def as_json(request: web.Request) -> web.Response:
        return answer(openapi)

    async def as_page(request: web.Request) -> web.Response:
        headers = {"Content-Security-Policy": docs_page.POLICY, "X-Content-Type-Options": "nosniff"}
        return web.Response(text=page, content_type="text/html", headers=headers)

    app.router.add_route("GET", "/openapi.json", as_json)
    app.router.add_route("GET", "/docs", as_page)
