from __future__ import annotations

from pathlib import Path

import pytest

from engine.control import start
from engine.control.local import LocalControl
from tests.fakes.workspace import make_root


@pytest.fixture
def control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalControl:
    """A control over a root with the graph ``toy``; its runs end as the selector ``fake`` says."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(start, "RUN_PROCESS", "tests.fakes.run_process")
    return LocalControl(make_root(tmp_path / "root"))
