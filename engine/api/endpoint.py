"""What a route is: where it is, what it takes, what it answers, and the verb behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from aiohttp import web

from engine.api.answers import Health
from engine.control.protocol import Control

Stream = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Call:
    """One request. path: the names in its path; query and body: of the endpoint's types."""

    control: Control
    health: Health
    path: Mapping[str, str]
    query: Any
    body: Any


@dataclass(frozen=True)
class File:
    """An answer that is a file."""

    path: Path
    media: str


@dataclass(frozen=True)
class Made:
    """An answer that is made for this request: ``write`` writes it, in a worker thread, to a file without a
    name. policy: what a browser lets it do, "" for as little as an asset."""

    write: Callable[[BinaryIO], object]
    media: str
    policy: str = ""


@dataclass(frozen=True)
class Endpoint:
    """One route. ``act`` runs in a worker thread and gives an ``answer``, a File, or what it made.

    path: as OpenAPI writes it. answer, query, body: msgspec types; None for none. errors: its own statuses,
    beside those that every route has. slow: it may take seconds. stream: serves the route in the event loop,
    in place of ``act``. media: what the answer is, unless JSON.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    summary: str
    act: Callable[[Call], Any] | None
    answer: Any
    query: Any = None
    body: Any = None
    errors: tuple[int, ...] = ()
    slow: bool = False
    stream: Stream | None = None
    media: str = "application/json"
