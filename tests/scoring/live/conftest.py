"""Both servers, installed and started side by side once a session. A test has a place of its own there."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fakes.real_runs import make_root
from tests.scoring.live.mlflow import Mlflow
from tests.scoring.live.phoenix import Phoenix
from tests.scoring.live.platforms import LivePlatform
from tests.scoring.live.runs import Lab
from tests.scoring.live.servers import shared
from tests.scoring.live.venvs import UnreachableError, installed

PLATFORMS: dict[str, type[LivePlatform]] = {platform.kind: platform for platform in (Mlflow, Phoenix)}

Servers = dict[str, "Future[str]"]


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Kind → the URL, once it is up."""
    session = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        session = session.parent

    def up(platform: type[LivePlatform]) -> str:
        folder = session / f"live-{platform.kind}"
        return held.enter_context(shared(folder, platform.launch(installed(platform.recipe), folder)))

    with ExitStack() as held, ThreadPoolExecutor() as pool:
        yield {kind: pool.submit(up, platform) for kind, platform in PLATFORMS.items()}


@pytest.fixture(scope="session", params=PLATFORMS)
def live(request: pytest.FixtureRequest, servers: Servers) -> Iterator[LivePlatform]:
    try:
        url = servers[request.param].result()
    except UnreachableError as error:
        reason = f"LIVE TESTS OF {request.param} ARE SKIPPED: {error}"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    platform = PLATFORMS[request.param](url)
    yield platform
    platform.close()


@pytest.fixture
def lab(live: LivePlatform, tmp_path: Path) -> Lab:
    return Lab(live, live.new_place(), make_root(tmp_path / "root"))
