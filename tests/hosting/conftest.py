from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.hosting.process import HostProcess, HostSpec, make_socket_dir
from tests.fakes.shared_servers import ModelFiles, model_files, until
from tests.hosting.helpers import ZOO, Host
from tests.hosting.kept import Kept


@pytest.fixture
def spec(tmp_path: Path) -> Iterator[Callable[..., HostSpec]]:
    """Makes a HostSpec: of the zoo, unless told otherwise."""
    sockets = make_socket_dir()

    def make(start: str = "", **changes: Any) -> HostSpec:
        env = {"ZOO_START": start, **changes.pop("env", {})}
        fields = {
            "name": "zoo",
            "path": ZOO,
            "log_path": tmp_path / "logs" / "zoo.log",
            "socket_dir": sockets,
        }
        return HostSpec(**{**fields, "env": env, **changes})

    yield make
    shutil.rmtree(sockets)


@pytest.fixture
async def start(spec: Callable[..., HostSpec]) -> AsyncIterator[Callable[..., Awaitable[Host]]]:
    """Starts hosts; those that still run are killed after the test."""
    hosts: list[Host] = []

    async def begin(start: str = "", **changes: Any) -> Host:
        hosts.append(Host(await HostProcess.start(spec(start, **changes), 60)))
        return hosts[-1]

    yield begin
    for host in hosts:
        await host.client.close()
        await host.process.kill()


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelFiles:
    return model_files(tmp_path / "model", monkeypatch)


@pytest.fixture
def keep(tmp_path: Path, model: ModelFiles) -> Iterator[Callable[..., Kept]]:
    kept: list[Kept] = []

    def begin(**how: Any) -> Kept:
        kept.append(Kept(tmp_path / "outputs/servers/model_line@x", model, **how))
        return kept[-1]

    yield begin
    for each in kept:
        each.end()
    until(lambda: not model.living(), "its hosts to be gone")
