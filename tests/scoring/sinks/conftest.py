from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from engine.scoring.secrets import Secrets


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(verify=False) as client:
        yield client


@pytest.fixture
def secrets(tmp_path: Path) -> Secrets:
    names = {"EVALTOWER_SECRET_PLATFORM": "a-token-of-the-platform", "EVALTOWER_SECRET_LF": "pk-lf-1:sk-lf-2"}
    return Secrets(tmp_path, names)
