"""Who may call: the token of the root, or the operator's own Unix socket; and no web page in any browser.

Starting a run executes code as the operator, so a shared box must not let its other users do it, nor a page
that somebody's browser has open.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import os
import secrets
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from engine.api.errors import Handler
from engine.store.atomic import temporary_beside

log = logging.getLogger(__name__)

OPEN = "/api/health"
"""The one route that needs no token."""

_LOOPBACK_NAMES = {"localhost", "127.0.0.1", "::1"}


def token_path(root: Path) -> Path:
    return root / "outputs" / "token"


def read_or_make_token(root: Path) -> str:
    """The token of a root, made where there is none, or where others could have read it. Raises OSError."""
    path = token_path(root)
    with suppress(FileNotFoundError):
        status = path.stat()
        if status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077:
            token = path.read_text("ascii", "replace").strip()
            if token:
                return token
        else:
            log.warning("%s could be read by others: a new token replaces it", path)
    path.parent.mkdir(parents=True, exist_ok=True)
    token = secrets.token_urlsafe(32)
    temporary = temporary_beside(path)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(token + "\n")
    os.replace(temporary, path)
    return token


def is_loopback(host: str) -> bool:
    """Whether nothing but this machine can reach what listens at ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def guard(token: str | None) -> Any:
    """The layer that lets nobody else in. ``token`` None: whoever can reach the port may call."""
    expected = f"Bearer {token}".encode() if token else None

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if _family(request) != socket.AF_UNIX:
            _refuse_pages(request)
            if expected and request.path != OPEN:
                given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
                if not hmac.compare_digest(given, expected):
                    raise web.HTTPUnauthorized(
                        text="this needs the token in outputs/token, as 'Authorization: Bearer TOKEN'",
                        headers={"WWW-Authenticate": 'Bearer realm="evaltower"'},
                    )
        return await handler(request)

    return check


def _refuse_pages(request: web.Request) -> None:
    """A page reaches a loopback port under a name of its own (DNS), or from another origin."""
    host = _split(request.headers.get("Host", ""))
    if host is None or not _names_us(host[0], request):
        raise web.HTTPForbidden(text="the Host header does not name the address that is served")
    origin = request.headers.get("Origin")
    if origin is not None and origin.partition("://")[2].lower() != request.headers["Host"].lower():
        raise web.HTTPForbidden(text="a page of another origin may not call this")
    if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        raise web.HTTPForbidden(text="a page of another site may not call this")


def _split(host: str) -> tuple[str, int | None] | None:
    try:
        url = urlsplit(f"//{host}")
        return (url.hostname, url.port) if url.hostname and url.netloc == host else None
    except ValueError:
        return None


def _names_us(name: str, request: web.Request) -> bool:
    address = _local_address(request)
    if address and is_loopback(address):
        return name in _LOOPBACK_NAMES
    return name in (address, socket.gethostname().lower(), socket.getfqdn().lower())


def _local_address(request: web.Request) -> str:
    """The address that the caller reached us at."""
    found = request.transport.get_extra_info("sockname") if request.transport else None
    return str(found[0]).removeprefix("::ffff:") if isinstance(found, tuple) else ""


def _family(request: web.Request) -> int | None:
    found = request.transport.get_extra_info("socket") if request.transport else None
    return found.family if found is not None else None
