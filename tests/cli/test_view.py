from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tui.episode_folders import error_row, steps, write_episode


def view(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "engine.main", "view", str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_a_terminal_there_is_a_plain_message(tmp_path: Path) -> None:
    done = view(write_episode(tmp_path / "ep0000", error_row(0), steps()))
    assert done.returncode == 2
    assert "no terminal" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("name", "told"), [("nowhere", "is not there"), ("", "no episode's folder")])
def test_what_is_no_episode_is_told_first(tmp_path: Path, name: str, told: str) -> None:
    done = view(tmp_path / name)
    assert done.returncode == 2
    assert told in done.stderr
    assert not done.stdout
