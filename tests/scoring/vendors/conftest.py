"""The vendors' own clients, in a virtual environment of theirs that is made once: they write to our doubles,
and read them."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.scoring.live.venvs import Recipe, installed
from tests.scoring.sources.conftest import make

__all__ = ["make"]

RECIPE = Recipe("vendors", (("langsmith==0.15.1", "langfuse==5.0.4"),))
CLIENT_SEC = 60.0

Client = Callable[..., Awaitable[Any]]


@pytest.fixture(scope="session")
def python() -> Path:
    """An interpreter that has them. Without a way to install them the tests fail: nothing else shows that our
    doubles are as the platforms are."""
    return installed(RECIPE) / "bin" / "python"


@pytest.fixture
def client_of(python: Path, tmp_path: Path) -> Client:
    """Run one of the scripts in this folder, and give the JSON that it printed last."""

    async def run(script: str, *words: str) -> Any:
        command = [str(python), str(Path(__file__).with_name(script)), *words]
        ended = await asyncio.to_thread(
            subprocess.run,
            command,
            env={"HOME": str(tmp_path), "PATH": ""},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CLIENT_SEC,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr.decode()
        return json.loads(ended.stdout.splitlines()[-1])

    return run
