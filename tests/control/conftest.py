from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.control.reader import Reader
from engine.scheduling.launchers import closing
from tests.fakes.live_backend import LiveControl, live
from tests.fakes.workspace import make_root


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests, so that the built-in nodesets are scanned once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def root(tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with the graph ``toy``; its runs end as the selector ``fake`` says."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    monkeypatch.setattr(closing, "RUN_PROCESS", "tests.fakes.run_process")
    return make_root(tmp_path / "root")


@pytest.fixture
def reader(root: Path) -> Reader:
    return Reader(root)


@pytest.fixture
def control(root: Path) -> Iterator[LiveControl]:
    """A live backend of that root."""
    with live(root) as control:
        yield control
