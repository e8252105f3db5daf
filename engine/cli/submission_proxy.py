"""The address at which a command finds the backend: what it submits there gets a profile's fields.

It listens on this machine for as long as the command runs, asks for a secret (in the path, so that any client
works that takes a base URL, or as a bearer token), and passes everything on.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
from aiohttp import web
from yarl import URL

LARGEST_BODY = 64 << 20
CONNECT_SEC = 10.0

_SUBMITS = re.compile(r"/api/eval/v2/(start|play|runs/[^/]+/resume)")
_TAKES_FIELDS = ("start", "play")
_OF_THE_HOP = {
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
    "transfer-encoding", "upgrade", "host", "content-length", "authorization", "origin",
}  # fmt: skip


@dataclass(frozen=True)
class Upstream:
    """The backend: its Unix socket, which needs no token, or its URL with one."""

    socket: str = ""
    url: str = ""
    token: str = ""


class SubmissionProxy:
    """Use as ``with``. url, secret: for the command. runs: what it has submitted, in that order."""

    def __init__(self, upstream: Upstream, fields: Mapping[str, Any]) -> None:
        self._upstream, self._fields = upstream, fields
        self.secret = secrets.token_urlsafe(24)
        self.url = ""
        self.runs: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="submissions", daemon=True)
        self._runner: web.AppRunner | None = None

    def __enter__(self) -> SubmissionProxy:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return self

    def __exit__(self, *error: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self) -> None:
        connector = aiohttp.UnixConnector(self._upstream.socket) if self._upstream.socket else None
        self._session = aiohttp.ClientSession(
            connector=connector,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SEC),
        )
        app = web.Application(client_max_size=LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/{self.secret}"

    async def _close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        await self._session.close()

    def _path(self, request: web.Request) -> str | None:
        """The backend's path, with its query; None for who does not know the secret."""
        first, _, rest = request.raw_path.removeprefix("/").partition("/")
        if secrets.compare_digest(first.encode(), self.secret.encode()):
            return f"/{rest}"
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return request.raw_path if secrets.compare_digest(given.encode(), self.secret.encode()) else None

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        path = self._path(request)
        if path is None:
            return web.json_response({"detail": "this address needs its whole URL, or its token"}, status=401)
        submits = _SUBMITS.fullmatch(path.partition("?")[0]) if request.method == "POST" else None
        body = await request.read()
        if submits and submits[1] in _TAKES_FIELDS:
            body = self._with_fields(body)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_THE_HOP}
        if self._upstream.token and not self._upstream.socket:
            headers["Authorization"] = f"Bearer {self._upstream.token}"
        base = "http://localhost" if self._upstream.socket else self._upstream.url.rstrip("/")
        try:
            url = URL(base + path, encoded=True)
            async with self._session.request(
                request.method, url, data=body or None, headers=headers, allow_redirects=False
            ) as answer:
                if submits and answer.status == 200:
                    return await self._noted(answer)
                return await _streamed(request, answer)
        except aiohttp.ClientConnectionError as error:
            return web.json_response({"detail": f"the backend does not answer: {error}"}, status=503)

    def _with_fields(self, body: bytes) -> bytes:
        """A start request with the profile's fields where it gives none; what is none stays as it is."""
        try:
            asked = msgspec.json.decode(body)
        except msgspec.MsgspecError:
            return body
        if not isinstance(asked, dict):
            return body
        given = {name for name, value in asked.items() if value is not None}
        if "max_steps" in given:  # the other name of step_budget
            given.add("step_budget")
        more = {
            name: value for name, value in self._fields.items() if name not in given and value is not None
        }
        return msgspec.json.encode({**asked, **more})

    async def _noted(self, answer: aiohttp.ClientResponse) -> web.Response:
        body = await answer.read()
        with suppress(msgspec.MsgspecError):
            self.runs.append(msgspec.json.decode(body, type=_Answer).run_id)
        return web.Response(status=answer.status, headers=_passed(answer), body=body)


class _Answer(msgspec.Struct):
    run_id: str


async def _streamed(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers=_passed(answer))
    response.content_length = answer.content_length
    await response.prepare(request)
    async for piece in answer.content.iter_any():
        await response.write(piece)
    await response.write_eof()
    return response


def _passed(answer: aiohttp.ClientResponse) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name.lower() not in _OF_THE_HOP}
