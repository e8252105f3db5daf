from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.api.client import Client, find_backend
from tests.fakes.workspace import make_root

SETTINGS = "[admission]\norphan_grace = 20.0\ngrace = 5.0\ndisk_low = 1.0\n"
END_SEC = 30.0


class Server:
    """An ``evaltower --serve`` of its own."""

    def __init__(self, root: Path, cache: Path, *options: str) -> None:
        self.root = root
        self.errors = root.parent / "serve.log"
        with open(self.errors, "ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "engine.main", "--root", str(root), "--serve", *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "XDG_CACHE_HOME": str(cache)},
            )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://"), self.errors.read_text()

    def client(self) -> Client:
        return Client(self.url)

    def local_client(self) -> Client:
        """Over the Unix socket."""
        return Client(socket=find_backend(self.root)["socket"])

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(END_SEC)

    def close(self) -> None:
        """Leave nothing behind: neither it nor its runs."""
        if self.process.poll() is None:
            self.local_client().post("/api/system/backend/stop", cancel=True)
            try:
                self.process.wait(END_SEC)
            finally:
                self.process.kill()
                self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


Serve = Callable[..., Server]


@contextmanager
def serving(root: Path, cache: Path) -> Iterator[Serve]:
    servers: list[Server] = []

    def serve(*options: str, root: Path = root) -> Server:
        servers.append(Server(root, cache, *options))
        return servers[-1]

    try:
        yield serve
    finally:
        for server in reversed(servers):
            server.close()


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests, so that the built-in nodesets are scanned once."""
    return tmp_path_factory.mktemp("cache")


def new_root(folder: Path) -> Path:
    """A root with the graph ``toy`` and short graces."""
    root = make_root(folder / "root")
    (root / "evaltower.toml").write_text(SETTINGS)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_root(tmp_path)


@pytest.fixture
def serve(root: Path, cache_home: Path) -> Iterator[Serve]:
    """Starts ``evaltower --serve`` with these options; whatever it started is gone at the test's end."""
    with serving(root, cache_home) as start:
        yield start


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Iterator[Server]:
    """One server without a token for a whole file."""
    root = new_root(tmp_path_factory.mktemp("shared"))
    with serving(root, cache_home) as start:
        yield start("--no-token", "--port", "0")


@pytest.fixture
def client(shared: Server) -> Client:
    return shared.client()
