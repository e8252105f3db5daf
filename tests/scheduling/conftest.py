from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.scheduling.launchers import closing
from tests.scheduling.launching import Box


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    monkeypatch.setattr(closing, "RUN_PROCESS", "tests.fakes.family_run")
    box = Box(tmp_path / "root")
    yield box
    box.close()
