"""A host's HTTP routes. Bodies are MessagePack, or JSON where the request's content type says so.

200 carries the answer, 500 ``{"error": {type, message, trace, kind}}`` of what the nodeset's code did,
400 and 404 what the caller did. Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Sequence

from aiohttp import web

from engine.components.env_panel import BaseEnvPanel
from engine.hosting import codec
from engine.hosting.forward import BadOutput
from engine.hosting.host_bodies import (
    JSON,
    MSGPACK,
    dict_of,
    execution_of,
    read_body,
    text_of,
    value_of,
)
from engine.hosting.host_dialects import Dialect
from engine.hosting.host_manifest import VERSION
from engine.hosting.host_nodes import HostedNodeset, describe, node_words
from engine.hosting.host_token import HEADER, is_bearer

CALLER_HEADER = "X-Evaltower-Caller"
_KEEP_ALIVE_SEC = 7 * 24 * 3600.0  # the client is the one that closes: a call must never cross a closing
_LOOPBACK = "127.0.0.1"

_Answer = Callable[[web.Request, Any], Awaitable[Any]]
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Place:
    """Where to answer: at the Unix ``socket``; else on a free port of every address of this machine, which
    others know as ``address``, for whoever has the ``token``; else at a ``port`` of the loopback address (0:
    a free one)."""

    socket: str = ""
    address: str = ""
    token: str = ""
    port: int = 0


async def serve(
    path: str, name: str, workspaces: Sequence[str], place: Place, run: str, up: Callable[[str], None]
) -> None:
    """Load the nodeset, serve it at ``place``, close it in the end. ``up`` is told the URL once up.

    The loopback address is served until SIGINT or SIGTERM, the others until ``POST /shutdown``.
    """
    hosted = await HostedNodeset.load(path, name, workspaces)
    stop = asyncio.Event()
    by_hand = not (place.socket or place.address)
    app = _application(hosted, run, _guards(place))
    runner = web.AppRunner(app, access_log=None, keepalive_timeout=_KEEP_ALIVE_SEC)
    if by_hand:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    else:
        _add_shutdown(app, stop)
    await runner.setup()
    up(await _listen(runner, place))
    await stop.wait()
    await runner.cleanup()
    await hosted.close()


async def _listen(runner: web.AppRunner, place: Place) -> str:
    """The URL."""
    if place.socket:
        await web.UnixSite(runner, place.socket).start()
        return "unix:" + place.socket
    if place.address:
        await web.SockSite(runner, _open_to_others()).start()
        shown = f"[{place.address}]" if ":" in place.address else place.address
    else:
        await web.TCPSite(runner, _LOOPBACK, place.port).start()
        shown = _LOOPBACK
    return f"http://{shown}:{runner.addresses[0][1]}"


def _open_to_others() -> socket.socket:
    """A free port of all addresses, of IPv6 as well where there is any."""
    try:
        return socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    except (OSError, ValueError):
        return socket.create_server(("", 0))


def _guards(place: Place) -> list[Any]:
    if place.socket:
        return []
    return [_only_with(place.token)] if place.address else [_not_for_web_pages]


def _only_with(token: str) -> Any:
    @web.middleware
    async def guard(request: web.Request, handler: _Handler) -> web.StreamResponse:
        if not is_bearer(request.headers.get(HEADER, ""), token):
            raise web.HTTPUnauthorized(text="only for those who were given its token")
        return await handler(request)

    return guard


@web.middleware
async def _not_for_web_pages(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """A page in the operator's browser can reach the loopback address, under names of its own choice."""
    if "Origin" in request.headers or request.url.host not in (_LOOPBACK, "localhost"):
        raise web.HTTPForbidden(text=f"only for programs on this machine that ask for {_LOOPBACK}")
    return await handler(request)


def _application(hosted: HostedNodeset, run: str, middlewares: Sequence[Any]) -> web.Application:
    under_way: dict[object, float] = {}  # when each call began

    async def health(request: web.Request, body: Any) -> Any:
        oldest = max((time.monotonic() - began for began in under_way.values()), default=0.0)
        return {
            "status": "ok",
            "name": hosted.nodeset.name,
            "version": VERSION,
            "run": run,
            "oldest_call_sec": oldest,
        }

    async def manifest(request: web.Request, body: Any) -> Any:
        return hosted.manifest()

    async def metadata(request: web.Request, body: Any) -> Any:
        return await hosted.nodeset.get_eval_metadata()

    async def evict(request: web.Request, body: Any) -> Any:
        key = text_of(body, "key")
        return {"ok": True, "key": key, "evicted": await hosted.evict(key)}

    async def callers(request: web.Request, body: Any) -> Any:
        hosted.batchers.caller(text_of(body, "id"), bool(value_of(body, "live")))
        return {"ok": True}

    async def end_run(request: web.Request, body: Any) -> Any:
        await hosted.end_run(text_of(body, "run"))
        return {"ok": True}

    def asked_tool(request: web.Request) -> str:
        fn = request.match_info["fn"]
        if fn not in hosted.tools:
            raise web.HTTPNotFound(text=f"{hosted.nodeset.name} has no tool {fn!r}")
        return fn

    async def load(request: web.Request, body: Any) -> Any:
        tool = hosted.tools[asked_tool(request)]
        return (await hosted.batchers.get(tool, dict_of(body, "config"))).record

    async def call(request: web.Request) -> web.Response:
        fn = asked_tool(request)
        dialect = Dialect(
            hosted.tools[fn],
            as_json=request.content_type != MSGPACK,
            of_a_run=CALLER_HEADER in request.headers,
        )
        body = read_body(await request.read(), request.content_type)
        config = dict_of(body, "config")
        try:
            execution = dialect.execution(execution_of(body))
            inputs = dialect.inputs(dict_of(body, "inputs"))
        except ValueError as error:
            raise web.HTTPBadRequest(text=f"{fn}: {error}") from None
        caller = request.headers.get(CALLER_HEADER) or None
        this_call = object()
        under_way[this_call] = time.monotonic()
        try:
            reply = await hosted.call(fn, inputs, config, execution, caller)
        finally:
            del under_way[this_call]
        status = 500 if "error" in reply else 200
        return _respond(request, status, reply, node_words(fn, execution), dialect.encode)

    app = web.Application(client_max_size=0, middlewares=middlewares)
    app.router.add_post("/call/{fn}", call)
    app.router.add_get("/health", _route(health))
    app.router.add_get("/manifest", _route(manifest))
    app.router.add_get("/eval-metadata", _route(metadata))
    app.router.add_post("/containers/evict", _route(evict))
    app.router.add_post("/callers", _route(callers))
    app.router.add_post("/runs/end", _route(end_run))
    app.router.add_post("/load/{fn}", _route(load))
    if hosted.panel is not None:
        _add_panel(app, hosted.panel)
    return app


def _add_shutdown(app: web.Application, stop: asyncio.Event) -> None:
    async def shutdown(request: web.Request, body: Any) -> Any:
        stop.set()
        return {"ok": True}

    app.router.add_post("/shutdown", _route(shutdown))


def _add_panel(app: web.Application, panel: BaseEnvPanel) -> None:
    async def state(request: web.Request, body: Any) -> Any:
        return await panel.on_load()

    async def info(request: web.Request, body: Any) -> Any:
        return panel.info()

    async def options(request: web.Request, body: Any) -> Any:
        return await panel.get_options(request.match_info["name"])

    async def field(request: web.Request, body: Any) -> Any:
        return await panel.on_field_change(request.match_info["name"], value_of(body, "value"))

    async def action(request: web.Request, body: Any) -> Any:
        return await panel.on_action(request.match_info["name"], dict_of(body, "params"))

    app.router.add_get("/env-panel/state", _route(state))
    app.router.add_get("/env-panel/info", _route(info))
    app.router.add_get("/env-panel/options/{name}", _route(options))
    app.router.add_post("/env-panel/field/{name}", _route(field))
    app.router.add_post("/env-panel/action/{name}", _route(action))


def _route(answer: _Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        body = read_body(await request.read(), request.content_type)
        try:
            return _respond(request, 200, await answer(request, body), request.path)
        except web.HTTPException:
            raise
        except Exception as error:
            return _respond(request, 500, {"error": describe(error)}, request.path)

    return handle


def _respond(
    request: web.Request, status: int, reply: Any, what: str, encode: Callable[[Any], bytes] | None = None
) -> web.Response:
    packed = request.content_type == MSGPACK
    encode = encode or (codec.encode if packed else codec.encode_json)
    try:
        data = encode(reply)
    except TypeError as error:
        status, data = 500, encode({"error": describe(BadOutput(f"{what}: {error}"))})
    return web.Response(body=data, status=status, content_type=MSGPACK if packed else JSON)
