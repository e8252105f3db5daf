from __future__ import annotations

from pathlib import Path

import pytest

from engine.control import start
from engine.control.local import LocalControl
from tests.fakes.workspace import make_root


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests, so that the built-in nodesets are scanned once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def control(tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> LocalControl:
    """A control over a root with the graph ``toy``; its runs end as the selector ``fake`` says."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    monkeypatch.setattr(start, "RUN_PROCESS", "tests.fakes.run_process")
    return LocalControl(make_root(tmp_path / "root"))
