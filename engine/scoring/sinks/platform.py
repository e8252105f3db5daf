"""Requests to a platform, over httpx: one try each, within a time, and what went wrong in words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import msgspec

from engine.store import strict_json
from engine.store.keys import SHORTEST_SECRET, STRUCK

REQUEST_SEC = 30.0
LONGEST_ANSWER = 200
"""Characters of a platform's answer that an error repeats."""

GONE = frozenset({404, 405, 501})
"""Statuses of a platform that does not know a route, or no longer."""

ANY = range(100, 600)
"""For a request whose every answer is looked at."""


class ExportError(Exception):
    """The platform did not take it; the message says what it said."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a platform answered. ``data``: its JSON, None where it sent none. ``problem``: the answer in a
    line, for a message."""

    status: int
    data: Any
    problem: str

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def field(self, *path: str) -> Any:
        """What is at the path of keys in its JSON; None where there is nothing."""
        found = self.data
        for key in path:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def entries(self, *path: str) -> list[Mapping[str, Any]]:
        """The objects of the list that is there; none where there is no list."""
        found = self.field(*path)
        return [entry for entry in found if isinstance(entry, Mapping)] if isinstance(found, list) else []

    def count(self, *path: str) -> int:
        """The number that is there, which some write as text; 0 where there is none."""
        found = str(self.field(*path))
        return int(found) if found.isdecimal() else 0


class Platform:
    """``endpoint``: a URL to which paths are added. ``strike``: takes secrets out of what is sent."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        endpoint: str,
        headers: Mapping[str, str],
        strike: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self._client = client
        self.endpoint = endpoint.rstrip("/")
        self._headers = dict(headers)
        self._strike = strike

    async def get(self, path: str, **params: str | int) -> Answer:
        """Ask; whatever the platform answers. ExportError where nothing whole came back."""
        return await self._once("GET", path, partial(self._client.get, params=params))

    async def post(
        self,
        path: str,
        data: Any,
        *,
        taken: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
        **params: str,
    ) -> Answer:
        """Send JSON. ExportError where nothing whole came back, or a status that is neither 2xx nor one of
        ``taken``."""
        body = self._strike(strict_json.encode(data))
        told = {"Content-Type": "application/json", **(headers or {})}
        send = partial(self._client.post, content=body, params=params)
        return self._taken(await self._once("POST", path, send, told), path, taken)

    async def patch(self, path: str, data: Any) -> Answer:
        """Send JSON; whatever the platform answers. ExportError where nothing whole came back."""
        send = partial(self._client.patch, content=self._strike(strict_json.encode(data)))
        return await self._once("PATCH", path, send, {"Content-Type": "application/json"})

    async def post_parts(self, path: str, parts: Mapping[str, Any], *, taken: Collection[int] = ()) -> Answer:
        """Send named JSON parts as multipart/form-data; the same errors."""
        bodies = {name: self._strike(strict_json.encode(data)) for name, data in parts.items()}
        files = [
            (name, (None, body, "application/json", {"Content-Length": str(len(body))}))
            for name, body in bodies.items()
        ]
        return self._taken(
            await self._once("POST", path, partial(self._client.post, files=files)), path, taken
        )

    def _taken(self, answer: Answer, path: str, taken: Collection[int]) -> Answer:
        if answer.ok or answer.status in taken:
            return answer
        raise ExportError(f"POST {path}: {answer.problem}")

    async def _once(
        self, method: str, path: str, send: Any, headers: Mapping[str, str] | None = None
    ) -> Answer:
        # httpx's own read timeout starts afresh with every byte; this one does not.
        try:
            async with asyncio.timeout(REQUEST_SEC):
                answer: httpx.Response = await send(
                    self.endpoint + path, headers={**self._headers, **(headers or {})}, timeout=REQUEST_SEC
                )
        except (TimeoutError, httpx.TimeoutException):
            raise ExportError(f"{method} {path}: no answer within {REQUEST_SEC:g} s") from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
            raise ExportError(f"the endpoint {self.endpoint!r} cannot be asked: {error}") from None
        except httpx.HTTPError as error:
            told = f"{type(error).__name__}: {error}".rstrip(": ")
            raise ExportError(f"{method} {path}: the connection failed ({self._struck(told)})") from None
        try:
            data = msgspec.json.decode(answer.content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            data = None
        line = " ".join(self._struck(answer.text).split())[:LONGEST_ANSWER]
        status = f"HTTP {answer.status_code} {answer.reason_phrase}".rstrip()
        return Answer(answer.status_code, data, f"{status}: {line}" if line else status)

    def _struck(self, text: str) -> str:
        """A platform may repeat what it was sent."""
        for value in self._headers.values():
            secret = value.rpartition(" ")[2]
            if len(secret) >= SHORTEST_SECRET:
                text = text.replace(secret, STRUCK)
        return self._strike(text.encode(errors="replace")).decode(errors="replace")
