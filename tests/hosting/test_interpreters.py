"""Hosts under the oldest and the newest interpreter that this machine has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest

from engine.components.errors import HostCrashed
from tests.fakes import agentcanvas_workspace
from tests.hosting import interpreters
from tests.hosting.helpers import Host

Start = Callable[..., Awaitable[Host]]

OURS = ("click", "psutil", "rich", "scipy", "pytest", "tests", "nodesets", "client", "codec")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # the first run installs three packages for each


@pytest.fixture(scope="module", params=[8, None], ids=["3.8", "newest"])
def python(request: pytest.FixtureRequest) -> Path:
    """The interpreter of an environment with nothing in it but what a host needs."""
    interpreter = interpreters.find(request.param)
    if interpreter is None:
        pytest.skip(f"no CPython 3.{request.param} on this machine, neither pyenv's nor on the PATH")
    assert request.config.cache is not None
    return interpreters.host_python(interpreter, request.config.cache.mkdir("interpreters"))


async def test_a_host_under_another_interpreter_sees_nothing_of_ours_but_engine(
    start: Start, python: Path
) -> None:
    host = await start(python=str(python))
    about = (await host.do("about", look_for=OURS)).outputs
    assert about is not None
    assert not [name for name, found in about["found"].items() if found]
    assert about["engine"] == str(Path(__file__).parents[2] / "engine" / "__init__.py")
    assert (await host.client.manifest())["executable"].startswith(str(python.parent))


async def test_a_host_under_another_interpreter_does_all_that_hosts_do(start: Start, python: Path) -> None:
    host = await start(python=str(python))
    frame = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    echoed = (await host.do("echo", value=frame)).outputs
    assert echoed is not None
    np.testing.assert_array_equal(echoed["value"], frame)
    numbers = (await host.do("numpy scalars")).outputs
    assert numbers is not None
    assert set(numbers.values()) == {1}
    assert (await host.do("logs", value="�")).inner_log == [{"key": "seen", "value": "�"}]
    raised = (await host.do("raises")).error
    assert raised is not None
    assert raised.message == "broken: �"
    assert await host.client.panel_action("play", {}) == {"ok": True, "error": "only play", "params": {}}
    await host.client.evict("e1")
    await host.process.stop(20)
    assert host.process.exit_cause() == "exit code 0"


async def test_a_host_under_another_interpreter_says_where_it_crashed(start: Start, python: Path) -> None:
    host = await start(python=str(python))
    with pytest.raises(HostCrashed):
        await host.do("segfaults")
    await host.process.kill()
    assert host.process.exit_cause() == "signal SIGSEGV (11)"
    assert any("in segfaults" in line for line in host.process.tail(40))


async def test_a_host_under_another_interpreter_serves_agentcanvas_s_nodesets(
    start: Start, python: Path, tmp_path: Path
) -> None:
    folder = agentcanvas_workspace.make_workspace(tmp_path) / "nodesets" / "env" / "env_walk"
    host = await start(python=str(python), name="env_walk", path=folder, env={"WALKS_IN": "grey"})
    for name, value in (("seed", 1), ("episode_index", 0)):
        await host.client.panel_field(name, value)
    assert (await host.client.panel_action("play", {}))["ok"] is True
    fired = await host.client.call("env_walk__reset", {}, {}, {}, 30)
    assert fired.outputs is not None
    assert fired.outputs["rgb"].shape == (8, 8, 3)
    seen = [
        await host.client.call("env_walk__step_discrete", {"action": 1, "said": {}}, {}, {}, 30)
        for _ in range(3)
    ]
    assert [reply.outputs and reply.outputs["done"] for reply in seen] == [False, False, True]
    assert seen[0].inner_log == [{"key": "action", "value": "FORWARD"}]
