"""Requests to a platform that has traces or takes them, over httpx: one try each, and errors that say what
was asked and never a secret."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from engine.scoring.attributes import load_json
from engine.scoring.errors import PlatformError
from engine.scoring.urls import shown_url
from engine.store import strict_json
from engine.store.keys import STRUCK

REQUEST_SEC = 30.0
"""For a whole answer."""

LONGEST_ANSWER = 200
"""Characters of a platform's own words that an error repeats."""

GONE = frozenset({404, 405, 501})
"""Statuses of a platform that does not know a route, or no longer."""

ANY = range(100, 600)
"""For a request whose every answer is looked at."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """``asked``: what it answers, for messages. ``said``: the answer in a line. ``fault``: what its errors
    are."""

    asked: str
    status: int
    body: bytes
    said: str
    fault: type[PlatformError]

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def problem(self) -> str:
        """What went wrong, in a line."""
        return f"HTTP {self.status}: {self.said}"

    @property
    def error(self) -> PlatformError:
        return self.fault(f"{self.asked}: {self.problem}", self.status)

    def json(self) -> Any:
        """Raises ``fault`` where it is not JSON."""
        try:
            return load_json(self.body)
        except ValueError:
            raise self.fault(f"{self.asked}: the answer is not JSON: {self.said}", self.status) from None

    def read(self, shape: type[T]) -> T:
        """As JSON of this shape; raises ``fault`` where it is none."""
        try:
            return msgspec.convert(self.json(), shape, strict=False)
        except (msgspec.ValidationError, RecursionError) as error:
            raise self.fault(f"{self.asked}: the answer is not as expected: {error}", self.status) from None

    def field(self, *path: str) -> Any:
        """What is at the path of keys in its JSON; None where there is nothing."""
        try:
            found = load_json(self.body)
        except ValueError:
            return None
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
    """One endpoint, asked with one secret.

    ``endpoint``: a URL to which paths are added. ``headers``: sent with every request. ``secret``: the value
    that is in them. ``strike``: takes other secrets out of what is sent, and of what errors repeat.
    ``fault``: raised where nothing whole came back, or a status that is neither 2xx nor one of ``taken``.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        endpoint: str,
        headers: Mapping[str, str],
        secret: str | None,
        *,
        fault: type[PlatformError],
        strike: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self._client = client
        self.endpoint = endpoint.rstrip("/")
        self._headers = dict(headers)
        whole = [text.strip() for text in (secret or "", *headers.values())]
        self._forms = {form for text in whole for form in (text, text.rpartition(" ")[2]) if form}
        self._strike = strike
        self._fault = fault

    @property
    def shown(self) -> str:
        """The endpoint as it may be shown."""
        return shown_url(self.endpoint)

    def at(self, endpoint: str) -> Platform:
        """The same, at another of its URLs."""
        other = copy(self)
        other.endpoint = endpoint
        return other

    async def get(
        self, path: str, params: Mapping[str, Any] | None = None, *, taken: Collection[int] = ()
    ) -> Answer:
        return self._sound(await self._once("GET", path, params=params), taken)

    async def post(
        self,
        path: str,
        data: Any,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        taken: Collection[int] = (),
    ) -> Answer:
        """Send JSON."""
        return self._sound(await self._sent("POST", path, data, params, headers), taken)

    async def patch(self, path: str, data: Any, *, taken: Collection[int] = ()) -> Answer:
        """Send JSON."""
        return self._sound(await self._sent("PATCH", path, data), taken)

    async def post_parts(self, path: str, parts: Mapping[str, Any], *, taken: Collection[int] = ()) -> Answer:
        """Send named JSON parts as multipart/form-data."""
        bodies = {name: self._encoded(data) for name, data in parts.items()}
        files = [
            (name, (None, body, "application/json", {"Content-Length": str(len(body))}))
            for name, body in bodies.items()
        ]
        return self._sound(await self._once("POST", path, files=files), taken)

    def _encoded(self, data: Any) -> bytes:
        return self._strike(strict_json.encode(data))

    def _sound(self, answer: Answer, taken: Collection[int]) -> Answer:
        if answer.ok or answer.status in taken:
            return answer
        raise answer.error

    async def _sent(
        self,
        method: str,
        path: str,
        data: Any,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        told = {"Content-Type": "application/json", **(headers or {})}
        return await self._once(method, path, told, params=params, content=self._encoded(data))

    async def _once(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **request: Any
    ) -> Answer:
        asked = f"{method} {self.shown}{path}"
        told = {**self._headers, **(headers or {})}
        # httpx's own limits start afresh with every byte; this one does not.
        try:
            async with asyncio.timeout(REQUEST_SEC):
                answer = await self._client.request(
                    method, self.endpoint + path, headers=told, timeout=REQUEST_SEC, **request
                )
        except (TimeoutError, httpx.TimeoutException):
            raise self._fault(f"{asked}: no answer within {REQUEST_SEC:g} s") from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError):
            raise self._fault(f"{asked}: its URL cannot be asked") from None
        except httpx.HTTPError as error:
            why = self._struck(f"{type(error).__name__}: {error}".rstrip(": "))
            raise self._fault(f"{asked}: the connection failed ({why})") from None
        said = " ".join(self._struck(answer.content.decode("utf-8", "replace")).split())
        return Answer(
            asked, answer.status_code, answer.content, said[:LONGEST_ANSWER] or "an empty body", self._fault
        )

    def _struck(self, text: str) -> str:
        """A platform may repeat what it was sent."""
        for form in self._forms:
            text = text.replace(form, STRUCK)
        return self._strike(text.encode(errors="replace")).decode(errors="replace")


def segment(text: str) -> str:
    """A text as one part of a path."""
    return quote(text, safe="")
