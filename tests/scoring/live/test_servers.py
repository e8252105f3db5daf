"""What the live tests stand on: environments that are made once, and servers that nobody has to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import pytest

from tests.scoring.live.servers import Launch, free_port, shared
from tests.scoring.live.venvs import Recipe, UnreachableError, installed

HOLDER = """
import sys
from pathlib import Path
from tests.scoring.live.servers import shared
from tests.scoring.live.test_servers import launch
with shared(Path(sys.argv[1]), launch()) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


def launch() -> Launch:
    port = free_port()
    command = (sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port))
    return Launch(f"http://127.0.0.1:{port}", "/", command, {})


def test_a_server_is_shared_and_gone_when_the_last_lets_go(tmp_path: Path) -> None:
    with ExitStack() as first:
        url = first.enter_context(shared(tmp_path, launch()))
        with shared(tmp_path, launch()) as again:
            assert again == url
            first.close()
            assert httpx.get(url).status_code == 200
    _until(lambda: not _served(tmp_path))
    with shared(tmp_path, launch()) as new:
        assert new != url
        assert httpx.get(new).status_code == 200


def test_a_killed_tester_leaves_no_server(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        assert httpx.get(holder.stdout.readline().decode().strip()).status_code == 200
        holder.send_signal(signal.SIGKILL)
    _until(lambda: not _served(tmp_path))


def test_a_server_that_does_not_start_is_told_with_what_it_said(tmp_path: Path) -> None:
    broken = Launch("http://127.0.0.1:1", "/", (sys.executable, "-c", "raise SystemExit('no luck')"), {})
    with pytest.raises(AssertionError, match="ended at its start:\nno luck"), shared(tmp_path, broken):
        pass


@pytest.mark.slow
def test_an_environment_is_made_once_and_a_half_made_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    recipe = Recipe("nothing", ())
    (recipe.folder / "half").mkdir(parents=True)
    folder = installed(recipe)
    assert not (folder / "half").exists()
    (folder / "kept").touch()
    assert installed(recipe) == folder
    assert (folder / "kept").exists()
    assert folder.parent == tmp_path / "cache" / "evaltower-tests"


@pytest.mark.slow
def test_packages_out_of_reach_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UnreachableError, match="pip cannot reach a-package"):
        installed(Recipe("far", (("a-package==1", "an-other"),)))


def _served(folder: Path) -> list[psutil.Process]:
    """What still runs there."""
    place = os.path.realpath(folder)
    return [process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == place]


def _until(over: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not over():
        assert time.monotonic() < deadline
        time.sleep(0.02)
