from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.models.client import ChatClient
from engine.store.profile import Profile
from tests.fakes.chat_server import ChatServer, chat_server


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


@pytest.fixture
def waits() -> list[float]:
    """How long the client would have waited between tries."""
    return []


MakeClient = Callable[..., ChatClient]


@pytest.fixture
async def make_client(tmp_path: Path, server: ChatServer, waits: list[float]) -> AsyncIterator[MakeClient]:
    """A client with one profile, ``local``, for the server; keywords change the profile."""
    made: list[ChatClient] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    def make(environ: dict[str, str] | None = None, **fields: Any) -> ChatClient:
        profile = Profile(**{"base_url": server.url, "model": "tiny", **fields})
        cache = tmp_path / "model_cache.jsonl"
        client = ChatClient({"local": profile}, tmp_path, cache, environ=environ or {}, sleep=sleep)
        made.append(client)
        return client

    yield make
    for client in made:
        await client.close()
