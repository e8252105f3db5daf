from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from engine.cli.app import run_command_line
from engine.control.reports import NoBackendError
from engine.main import open_control
from engine.scheduling.launchers import closing
from engine.store.backend_lock import live_backend
from engine.store.process_identity import is_alive
from tests.control.waiting import wait_for
from tests.fakes.fake_control import FakeControl, opening
from tests.fakes.workspace import make_root


class Said(NamedTuple):
    """What a command line left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


Shell = Callable[..., Said]
Operate = Callable[..., Said]


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests, so that the built-in nodesets are scanned once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def root(tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A root with the graph ``toy``; its runs end as the selector ``fake`` says. A backend that was handed
    over is ended with it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    monkeypatch.setattr(closing, "RUN_PROCESS", "tests.fakes.run_process")
    root = make_root(tmp_path / "root")
    yield root
    if left := live_backend(root):
        with suppress(NoBackendError), open_control(str(root), "operate") as control:
            control.stop_backend(cancel=True)
        last = left.successor or left.process
        wait_for(lambda: not is_alive(last), "the end of the backend")


@pytest.fixture
def shell(root: Path, capfd: pytest.CaptureFixture[str]) -> Shell:
    """Runs ``evaltower`` with these words, in this process, for the root."""

    def run(*words: str) -> Said:
        capfd.readouterr()
        code = run_command_line(open_control, ["--root", str(root), *words])
        return Said(code, *capfd.readouterr())

    return run


@pytest.fixture
def control(root: Path) -> FakeControl:
    return FakeControl(root)


@pytest.fixture
def operate(control: FakeControl, capfd: pytest.CaptureFixture[str]) -> Operate:
    """Runs ``evaltower`` with these words over ``control``; alive=False: without a backend."""

    def run(*words: str, alive: bool = True) -> Said:
        capfd.readouterr()
        code = run_command_line(opening(control, alive), ["--root", str(control.root), *words])
        return Said(code, *capfd.readouterr())

    return run
