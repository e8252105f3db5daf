from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from engine.scoring.sources import TraceSource, make_source
from engine.scoring.spec import TraceSpec
from tests.fakes.platforms.double import Double

RUN = "20260518_143052/ep0003"
TRACE = "0af7651916cd43dd8448eb211c80319c"

MakeSource = Callable[..., TraceSource]


@pytest.fixture
async def make() -> AsyncIterator[MakeSource]:
    """A source of a double, or of a URL; keywords are fields of its spec."""
    async with httpx.AsyncClient(verify=False) as client:  # certificates are slow to read

        def made(kind: Any, at: Double | str, secret: str | None = None, **fields: Any) -> TraceSource:
            url = at if isinstance(at, str) else at.url
            return make_source(TraceSpec(kind=kind, endpoint=url, **fields), secret, client)

        yield made
