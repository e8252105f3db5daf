"""A host's HTTP routes. Bodies are MessagePack, or JSON where the request's content type says so.

200 carries the answer, 500 ``{"error": {type, message, trace, kind}}`` of what the nodeset's code did,
400 and 404 what the caller did. Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Awaitable, Callable

from aiohttp import web

from engine.components.env_panel import BaseEnvPanel
from engine.hosting import codec
from engine.hosting.forward import BadOutput
from engine.hosting.host_nodes import HostedNodeset, describe, node_words

CALLER_HEADER = "X-Evaltower-Caller"
MSGPACK = "application/msgpack"
_JSON = "application/json"
_KEEP_ALIVE_SEC = 7 * 24 * 3600.0  # the client is the one that closes: a call must never cross a closing

_Answer = Callable[[web.Request, Any], Awaitable[Any]]


async def serve(path: str, name: str, socket_path: str, run: str, up: Callable[[str], None]) -> None:
    """Load the nodeset, serve until ``POST /shutdown``, close it. ``up`` is told the address once up."""
    hosted = await HostedNodeset.load(path, name)
    stop = asyncio.Event()
    runner = web.AppRunner(
        _application(hosted, run, stop), access_log=None, keepalive_timeout=_KEEP_ALIVE_SEC
    )
    await runner.setup()
    await web.UnixSite(runner, socket_path).start()
    up("unix:" + socket_path)
    await stop.wait()
    await runner.cleanup()
    await hosted.close()


def _application(hosted: HostedNodeset, run: str, stop: asyncio.Event) -> web.Application:
    async def health(request: web.Request, body: Any) -> Any:
        return {"status": "ok", "name": hosted.nodeset.name, "run": run}

    async def manifest(request: web.Request, body: Any) -> Any:
        return hosted.manifest()

    async def metadata(request: web.Request, body: Any) -> Any:
        return await hosted.nodeset.get_eval_metadata()

    async def evict(request: web.Request, body: Any) -> Any:
        await hosted.evict(_field(body, "key"))
        return {"ok": True}

    async def callers(request: web.Request, body: Any) -> Any:
        hosted.batchers.caller(_field(body, "id"), bool(_field(body, "live")))
        return {"ok": True}

    async def shutdown(request: web.Request, body: Any) -> Any:
        stop.set()
        return {"ok": True}

    async def call(request: web.Request) -> web.Response:
        fn = request.match_info["fn"]
        if fn not in hosted.tools:
            raise web.HTTPNotFound(text=f"{hosted.nodeset.name} has no tool {fn!r}")
        body = _body(await request.read(), request.content_type)
        execution = body.get("_exec") or {}
        caller = request.headers.get(CALLER_HEADER) or None
        reply = await hosted.call(fn, body.get("inputs") or {}, body.get("config") or {}, execution, caller)
        return _respond(request, 500 if "error" in reply else 200, reply, node_words(fn, execution))

    app = web.Application(client_max_size=0)
    app.router.add_post("/call/{fn}", call)
    app.router.add_get("/health", _route(health))
    app.router.add_get("/manifest", _route(manifest))
    app.router.add_get("/eval-metadata", _route(metadata))
    app.router.add_post("/containers/evict", _route(evict))
    app.router.add_post("/callers", _route(callers))
    app.router.add_post("/shutdown", _route(shutdown))
    if hosted.panel is not None:
        _add_panel(app, hosted.panel)
    return app


def _add_panel(app: web.Application, panel: BaseEnvPanel) -> None:
    async def state(request: web.Request, body: Any) -> Any:
        return await panel.on_load()

    async def info(request: web.Request, body: Any) -> Any:
        return panel.info()

    async def options(request: web.Request, body: Any) -> Any:
        return await panel.get_options(request.match_info["name"])

    async def field(request: web.Request, body: Any) -> Any:
        return await panel.on_field_change(request.match_info["name"], _field(body, "value"))

    async def action(request: web.Request, body: Any) -> Any:
        return await panel.on_action(request.match_info["name"], body.get("params") or {})

    app.router.add_get("/env-panel/state", _route(state))
    app.router.add_get("/env-panel/info", _route(info))
    app.router.add_get("/env-panel/options/{name}", _route(options))
    app.router.add_post("/env-panel/field/{name}", _route(field))
    app.router.add_post("/env-panel/action/{name}", _route(action))


def _route(answer: _Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        body = _body(await request.read(), request.content_type)
        try:
            return _respond(request, 200, await answer(request, body), request.path)
        except web.HTTPException:
            raise
        except Exception as error:
            return _respond(request, 500, {"error": describe(error)}, request.path)

    return handle


def _respond(request: web.Request, status: int, reply: Any, what: str) -> web.Response:
    packed = request.content_type == MSGPACK
    encode = codec.encode if packed else codec.encode_json
    try:
        data = encode(reply)
    except TypeError as error:
        status, data = 500, encode({"error": describe(BadOutput(f"{what}: {error}"))})
    return web.Response(body=data, status=status, content_type=MSGPACK if packed else _JSON)


def _body(data: bytes, content_type: str) -> Any:
    if not data:
        return {}
    try:
        body = json.loads(data) if content_type == _JSON else codec.decode(data)
    except codec.NOT_A_MESSAGE as error:
        raise web.HTTPBadRequest(text=f"the body is not {content_type}: {error}") from None
    if not isinstance(body, dict):
        raise web.HTTPBadRequest(text=f"the body must be a dict, not {type(body).__name__}")
    return body


def _field(body: Any, name: str) -> Any:
    if name not in body:
        raise web.HTTPBadRequest(text=f"the body has no {name!r}")
    return body[name]
