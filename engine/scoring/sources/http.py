"""Requests to a trace platform: JSON answers, and errors that say what was asked and never a secret."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from engine.scoring.attributes import load_json
from engine.scoring.auth import strike
from engine.scoring.sources.base import CollectError, ProbeResult

REQUEST_SEC = 30.0
PROBE_SEC = 10.0
MOST_PAGES = 1000
TOLD = 200
"""Characters of a platform's own words that an error repeats."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reply:
    """``asked``: what it answers, for messages."""

    asked: str
    status: int
    body: bytes
    said: str

    def json(self) -> Any:
        """CollectError where it is not JSON."""
        try:
            return load_json(self.body)
        except ValueError:
            raise CollectError(f"{self.asked}: the answer is not JSON: {self.said}", self.status) from None

    def read(self, shape: type[T]) -> T:
        """As JSON of this shape; CollectError where it is none."""
        try:
            return msgspec.convert(self.json(), shape, strict=False)
        except (msgspec.ValidationError, RecursionError) as error:
            raise CollectError(f"{self.asked}: the answer is not as expected: {error}", self.status) from None

    @property
    def error(self) -> CollectError:
        return CollectError(f"{self.asked}: HTTP {self.status}: {self.said}", self.status)


class Platform:
    """One endpoint, asked with one secret. ``headers``: sent with every request."""

    def __init__(
        self, client: httpx.AsyncClient, endpoint: str, headers: Mapping[str, str], secret: str | None
    ) -> None:
        self._client = client
        self._endpoint = endpoint.rstrip("/")
        self._headers = dict(headers)
        self._secret = secret

    async def get(
        self, path: str, params: Mapping[str, Any] | None = None, *, spared: Collection[int] = ()
    ) -> Reply:
        """Raises CollectError where no answer came, and for a status of an error that is not ``spared``."""
        return self._sound(await self._once(REQUEST_SEC, "GET", path, params), spared)

    async def post(self, path: str, body: Any, *, spared: Collection[int] = ()) -> Reply:
        """Send JSON. Raises as :meth:`get` does."""
        return self._sound(await self._once(REQUEST_SEC, "POST", path, body=body), spared)

    async def probe(
        self,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        any_status: bool = False,
    ) -> ProbeResult:
        """What one request finds. ``any_status``: an answer is an answer, unless it asks who we are."""
        method = "GET" if body is None else "POST"
        try:
            reply = await self._once(PROBE_SEC, method, path, params, body)
        except CollectError as error:
            return ProbeResult("unreachable", error.message)
        if reply.status in (401, 403):
            return ProbeResult("auth", reply.error.message)
        if any_status or 200 <= reply.status < 300:
            return ProbeResult("reachable", reply.asked)
        return ProbeResult("error", reply.error.message)

    async def _once(
        self,
        limit_sec: float,
        method: str,
        path: str,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
    ) -> Reply:
        asked = f"{method} {_without_login(self._endpoint)}{path}"
        # httpx's own limits start afresh with every byte; this one does not.
        try:
            async with asyncio.timeout(limit_sec):
                answer = await self._client.request(
                    method,
                    self._endpoint + path,
                    params=params,
                    json=body,
                    headers=self._headers,
                    timeout=limit_sec,
                )
        except (TimeoutError, httpx.TimeoutException):
            raise CollectError(f"{asked}: no answer within {limit_sec:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            told = strike(f"{type(error).__name__}: {error}".rstrip(": "), self._secret)
            raise CollectError(f"{asked}: {told}") from None
        said = " ".join(strike(answer.content.decode("utf-8", "replace"), self._secret).split())
        return Reply(asked, answer.status_code, answer.content, said[:TOLD] or "an empty body")

    def _sound(self, reply: Reply, spared: Collection[int]) -> Reply:
        if 200 <= reply.status < 300 or reply.status in spared:
            return reply
        raise reply.error


async def every_page(
    page: Callable[[str | None], Awaitable[tuple[list[T], str | None]]],
) -> list[T]:
    """What all pages hold. ``page``: given a cursor, what is there and the next cursor.

    CollectError for a platform whose pages do not end.
    """
    items: list[T] = []
    cursor: str | None = None
    seen: set[str] = set()
    while len(seen) < MOST_PAGES:
        found, cursor = await page(cursor)
        items += found
        if not cursor:
            return items
        if cursor in seen:
            break
        seen.add(cursor)
    raise CollectError(f"the platform's pages do not end: {len(items)} entries so far")


def segment(text: str) -> str:
    """A text as one part of a path."""
    return quote(text, safe="")


def _without_login(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return scheme + separator + host.rpartition("@")[2] + slash + path
