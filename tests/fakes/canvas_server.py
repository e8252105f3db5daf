"""A model server as AgentCanvas runs them, written from its protocol: real HTTP, and nothing of ours."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
from aiohttp import web

MSGPACK = "application/msgpack"
Function = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]


def pack(value: Any) -> bytes:
    """A body as AgentCanvas packs it: an array is extension 1: tag, length, {dtype, shape}, items."""

    def blob(array: Any) -> msgspec.msgpack.Ext:
        assert isinstance(array, np.ndarray)
        meta = msgspec.msgpack.encode({"dtype": str(array.dtype), "shape": list(array.shape)})
        return msgspec.msgpack.Ext(1, bytes([0]) + struct.pack(">I", len(meta)) + meta + array.tobytes())

    return msgspec.msgpack.encode(value, enc_hook=blob)


def unpack(data: bytes) -> Any:
    """A body as AgentCanvas reads it; what it would choke on fails here too."""

    def array(code: int, framed: memoryview) -> np.ndarray:
        assert (code, framed[0]) == (1, 0), "not a blob of AgentCanvas's"
        (length,) = struct.unpack(">I", framed[1:5])
        meta = msgspec.msgpack.decode(framed[5 : 5 + length])
        return np.frombuffer(framed[5 + length :], np.dtype(meta["dtype"])).reshape(meta["shape"]).copy()

    return msgspec.msgpack.decode(data, ext_hook=array)


def to_json(value: Any) -> Any:
    """A value as AgentCanvas puts it into JSON, on any port but an image's."""
    if isinstance(value, np.ndarray):
        text = base64.b64encode(value.tobytes()).decode()
        return {"__ndarray__": text, "dtype": str(value.dtype), "shape": list(value.shape)}
    return {k: to_json(v) for k, v in value.items()} if isinstance(value, dict) else value


class Dropped(Exception):
    """Raised by a function: the connection breaks in the middle of its call."""


def port(name: str, wire_type: str, optional: bool = False) -> dict[str, Any]:
    return {"name": name, "wire_type": wire_type, "description": "", "optional": optional}


class CanvasServer:
    """``functions``: name → (input ports, output ports, what it does). ``panel``: answers of its routes."""

    def __init__(
        self,
        name: str,
        functions: dict[str, tuple[list[Any], list[Any], Function]],
        panel: Callable[[str, str, Any], Any] | None = None,
    ) -> None:
        self.name = name
        self.url = ""
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.evicted: list[str] = []
        self.loop = asyncio.new_event_loop()
        self._functions = functions
        self._panel = panel

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/health", self._health)
        app.router.add_get("/manifest", self._manifest)
        app.router.add_post("/call/{fn}", self._call)
        app.router.add_post("/containers/evict", self._evict)
        if self._panel is not None:
            app.router.add_get("/env-panel/{what}", self._ask_panel)
            app.router.add_post("/env-panel/{what}/{name}", self._ask_panel)
        return app

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "name": self.name, "version": "1.0"})

    async def _manifest(self, request: web.Request) -> web.Response:
        functions = [
            {"name": name, "description": "", "input_ports": inputs, "output_ports": outputs,
             "config_schema": {}, "ui_config": {}}
            for name, (inputs, outputs, _) in self._functions.items()
        ]  # fmt: skip
        return web.json_response(
            {
                "name": self.name,
                "version": "1.0",
                "description": "a model",
                "functions": functions,
                "containers": [],
            }
        )

    async def _call(self, request: web.Request) -> web.Response:
        data = await request.read()
        packed = MSGPACK in request.headers.get("Content-Type", "")
        body = unpack(data) if packed else json.loads(data)
        name = request.match_info["fn"]
        if name not in self._functions:
            return web.json_response({"detail": f"Unknown function: {name}"}, status=404)
        inputs, outputs, function = self._functions[name]
        asked = {p["name"]: body["inputs"][p["name"]] for p in inputs if p["name"] in body["inputs"]}
        self.calls.append((name, asked))
        try:
            result = function(asked, body.get("config") or {})
        except Dropped:
            assert request.transport is not None
            request.transport.abort()
            raise
        except Exception as error:
            return web.json_response({"detail": str(error)}, status=500)
        reply = {"outputs": {p["name"]: result[p["name"]] for p in outputs if p["name"] in result}}
        if packed:
            return web.Response(body=pack(reply), content_type=MSGPACK)
        return web.json_response(to_json(reply))

    async def _evict(self, request: web.Request) -> web.Response:
        key = (await request.json())["key"]
        self.evicted.append(key)
        return web.json_response({"evicted": 0, "key": key})

    async def _ask_panel(self, request: web.Request) -> web.Response:
        assert self._panel is not None
        body = await request.json() if request.can_read_body else {}
        where = request.match_info
        return web.json_response(self._panel(where["what"], where.get("name", ""), body))


@contextmanager
def running(server: CanvasServer) -> Iterator[CanvasServer]:
    """Serves in a thread of its own until the block ends."""
    up, down = threading.Event(), asyncio.Event()

    async def serve() -> None:
        runner = web.AppRunner(server.application())
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        up.set()
        await down.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: server.loop.run_until_complete(serve()))
    thread.start()
    try:
        assert up.wait(20)
        yield server
    finally:
        server.loop.call_soon_threadsafe(down.set)
        thread.join()
        server.loop.close()
