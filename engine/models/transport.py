"""Requests over httpx: one try each. The one place that knows httpx."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus

import httpx

from engine.models.errors import AnswerLate, NoAnswer
from engine.models.retrying import retry_after_sec

CONNECT_SEC = 10.0

# It tells every request at INFO, which says nothing that the firing log does not.
logging.getLogger("httpx").setLevel(logging.WARNING)


@cache
def _trusted() -> ssl.SSLContext:
    """Whom we trust: slow to read, so once a process."""
    return httpx.create_ssl_context()


@dataclass(frozen=True, slots=True)
class Response:
    """``retry_after_sec``: the wait that the server asks for, 0 where it asks for none."""

    status: int
    body: bytes
    retry_after_sec: float

    @property
    def status_line(self) -> str:
        """``HTTP 429 Too Many Requests``."""
        try:
            return f"HTTP {self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return f"HTTP {self.status}"


class Transport:
    """Connections to any number of servers, kept alive between requests."""

    def __init__(self) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        timeout = httpx.Timeout(None, connect=CONNECT_SEC)
        self._http = httpx.AsyncClient(timeout=timeout, limits=limits, verify=_trusted())

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout_sec: float) -> Response:
        """Send JSON. NoAnswer where nothing whole came back within ``timeout_sec``."""
        headers = {"Content-Type": "application/json", **headers}
        return await self._once("POST", url, body, headers, timeout_sec)

    async def get(self, url: str, headers: Mapping[str, str], timeout_sec: float) -> Response:
        """Ask. NoAnswer as with :meth:`post`."""
        return await self._once("GET", url, None, headers, timeout_sec)

    async def close(self) -> None:
        await self._http.aclose()

    async def _once(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], timeout_sec: float
    ) -> Response:
        # httpx's own read timeout starts afresh with every byte; this one does not.
        try:
            async with asyncio.timeout(timeout_sec):
                answer = await self._http.request(method, url, content=body, headers=headers)
        except TimeoutError:
            raise AnswerLate(f"no answer within {timeout_sec:g} s") from None
        except httpx.TimeoutException:
            raise NoAnswer(f"no connection within {CONNECT_SEC:g} s") from None
        except (httpx.InvalidURL, UnicodeError) as error:  # the latter of a host that is no name
            raise NoAnswer(f"it cannot be asked: {error}") from None
        except httpx.HTTPError as error:
            told = f"{type(error).__name__}: {error}".rstrip(": ")
            raise NoAnswer(f"the connection failed ({told})") from None
        wait = retry_after_sec(answer.headers.get("Retry-After"), answer.headers.get("Date"), time.time())
        return Response(answer.status_code, answer.content, wait)
