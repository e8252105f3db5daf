"""Shared servers under their shims, as a backend starts, polls, ends and takes over them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from engine.scheduling.launchers.servers import ServerLauncher
from engine.scheduling.launchers.spawning import Graces
from engine.scheduling.launching import ServerState
from engine.store.server_folder import server_at, server_folder
from tests.fakes.shared_servers import ModelFiles, model_files, model_need, seated, until

NEED = model_need()
SEATED = seated(NEED)
KEY = SEATED.owner
GRACES = Graces(None, 20.0, 20.0)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelFiles:
    return model_files(tmp_path / "model", monkeypatch)


@pytest.fixture
def root(tmp_path: Path, model: ModelFiles) -> Iterator[Path]:
    yield tmp_path
    launcher = ServerLauncher(tmp_path, GRACES)
    for folder in (tmp_path / "outputs" / "servers").iterdir():
        key = f"server:{folder.name}"
        launcher.stop(key)
        until(lambda key=key: is_over(launcher.poll([key]).get(key)), "its tree to be gone")  # type: ignore[misc]
    assert model.living() == []


def is_over(state: ServerState | None) -> bool:
    return state is None or state.ended is not None


def state(launcher: ServerLauncher) -> ServerState:
    return launcher.poll([KEY])[KEY]


def ready(launcher: ServerLauncher) -> ServerState:
    def found() -> ServerState | None:
        now = state(launcher)
        assert now.ended is None, now.ended
        return now if now.ready else None

    return until(found, "it to be ready") or state(launcher)


def ended(launcher: ServerLauncher) -> ServerState:
    until(lambda: state(launcher).ended, "its end")
    return state(launcher)


def kill_tree(pid: int) -> None:
    """Its shim first, and what is below it, all at once."""
    shim = psutil.Process(pid)
    below = shim.children(recursive=True)
    for process in (shim, *below):
        process.kill()


def test_it_is_loaded_answers_and_is_unloaded(root: Path, model: ModelFiles) -> None:
    launcher = ServerLauncher(root, GRACES)
    assert launcher.poll([KEY]) == {}
    launcher.start(seated(NEED, visible=()))
    assert not state(launcher).ready
    now = ready(launcher)
    assert now.url == launcher.url(KEY)
    assert server_at(now.url) == server_folder(root, KEY)
    assert model.lines("loads") == [f"{model.pids()[0]} "]  # no card is visible
    launcher.stop(KEY)
    launcher.stop(KEY)
    assert ended(launcher) == ServerState(0, ended="it was unloaded")
    assert model.lines("shut_down") == [str(model.pids()[0])]
    assert state(launcher).ended == "it was unloaded"
    assert server_at(now.url) is None


@pytest.mark.slow
def test_another_backend_goes_on_with_it(root: Path, model: ModelFiles) -> None:
    first = ServerLauncher(root, GRACES)
    first.start(seated(NEED, visible=("GPU-0", "GPU-1")))
    before = ready(first)
    second = ServerLauncher(root, GRACES)
    assert state(second) == before
    assert model.lines("loads")[0].split()[1] == "GPU-0,GPU-1"
    second.stop(KEY)
    assert ended(second).ended == "it was unloaded"
    assert ended(first).ended == "it was unloaded"


@pytest.mark.slow
def test_killed_with_all_of_its_tree_it_comes_back_at_its_address(root: Path, model: ModelFiles) -> None:
    launcher = ServerLauncher(root, GRACES)
    launcher.start(SEATED)
    before = ready(launcher)
    kill_tree(before.pid)
    gone = ended(launcher)
    assert (gone.killed, gone.ended) == (True, "it was killed, with all of its processes")
    assert model.living() == []
    launcher.start(SEATED)
    after = ready(launcher)
    assert after.url == before.url
    assert after.pid != before.pid


@pytest.mark.slow
def test_killed_it_comes_back_in_its_regime_or_not_at_all(root: Path, model: ModelFiles) -> None:
    launcher = ServerLauncher(root, GRACES)
    launcher.start(SEATED)
    kill_tree(ready(launcher).pid)
    ended(launcher)
    model.set("other")
    launcher.start(SEATED)
    gave_up = ended(launcher)
    assert not gave_up.killed
    assert "it came back in another regime" in (gave_up.ended or "")
    launcher.start(SEATED)  # for whoever comes next, it may be as it is now
    assert ready(launcher).ready


def test_one_that_does_not_start_says_why_and_leaves_nothing(root: Path, model: ModelFiles) -> None:
    model.set("broken")
    launcher = ServerLauncher(root, GRACES)
    launcher.start(SEATED)
    gone = ended(launcher)
    assert (gone.ended or "").startswith("FileNotFoundError: weights.pt is not there")
    assert not gone.killed


def test_stopped_before_it_could_begin_it_never_loads(root: Path, model: ModelFiles) -> None:
    launcher = ServerLauncher(root, GRACES)
    launcher.start(SEATED)
    launcher.stop(KEY)
    until(lambda: is_over(launcher.poll([KEY]).get(KEY)), "its end")
    assert len(model.lines("loads")) == len(model.lines("shut_down"))


@pytest.mark.slow
def test_whoever_keeps_it_up_is_killed_and_its_host_ends_too(root: Path, model: ModelFiles) -> None:
    launcher = ServerLauncher(root, GRACES)
    launcher.start(SEATED)
    shim = psutil.Process(ready(launcher).pid)
    (keeper,) = shim.children()
    keeper.kill()
    gone = ended(launcher)
    assert gone.killed
    assert (gone.ended or "").startswith("signal SIGKILL (9)")
    assert model.living() == []


@pytest.mark.slow
def test_a_shim_that_is_killed_alone_leaves_nothing(root: Path, model: ModelFiles) -> None:
    launcher = ServerLauncher(root, GRACES)
    launcher.start(SEATED)
    os.kill(ready(launcher).pid, signal.SIGKILL)
    assert ended(launcher).killed
    assert model.living() == []
