"""MiniWoB in a real Chromium. By hand: ``pytest -m byhand tests/byhand/test_browsergym.py``."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.byhand.needs import interpreter_of
from tests.command import evaltower
from tests.hosting.helpers import eventually, is_gone
from tests.nodesets.adapter_host import Adapter, hosted
from tests.reference.by_hand import CLICK, ROOM
from tests.reference.figures import Measured
from tests.reference.table import record

pytestmark = [pytest.mark.byhand, pytest.mark.timeout(900)]
REBUILDS = 10


@pytest.fixture
def python() -> str:
    return interpreter_of("env_browsergym")


async def begin(env: Adapter, seed: int, task: str) -> dict[str, object]:
    assert (await env.choose(0, seed=seed, task=task)) == {"ok": True, "side_effect": "reset"}
    return await env.fire("reset")


async def test_what_is_asked_for_is_clicked(
    tmp_path: Path, python: str, request: pytest.FixtureRequest
) -> None:
    returns = []
    async with hosted("env_browsergym", tmp_path, python) as env:
        for seed in range(CLICK.n):
            seen = await begin(env, seed, CLICK.name)
            assert (seen["rgb"].shape[2], seen["rgb"].dtype) == (3, np.uint8)
            wanted = re.search(r"button (ONE|TWO)", str(seen["instruction"]))
            assert wanted, seen["instruction"]
            button = re.search(rf"\[(\w+)\] button '{wanted[1]}'", str(seen["axtree"]))
            assert button, seen["axtree"]
            done = await env.fire("step", action=f"click('{button[1]}')")
            assert (done["terminated"], done["reward"], done["error"]) == (True, 1.0, "")
            metrics = (await env.fire("evaluate"))["metrics"]
            assert metrics == {"success": 1, "return": 1, "length": 1}
            returns.append(metrics[CLICK.metric])
    record(request, ROOM, CLICK, Measured(sum(returns) / CLICK.n, 0.0, None, CLICK.n, None))


async def test_an_action_that_cannot_be_done_is_told_to_the_agent(tmp_path: Path, python: str) -> None:
    async with hosted("env_browsergym", tmp_path, python) as env:
        await begin(env, 0, "miniwob.click-test-2")
        for action, told in (("click('nowhere')", "nowhere"), ("I think I shall click", "")):
            after = await env.fire("step", action=action)
            assert after["terminated"] is False
            assert after["error"]
            assert told in after["error"]
        refused = await env.choose(0, task="miniwob.no-such-task")
        assert "task is 'miniwob.no-such-task', none of BrowserGym's" in refused["error"]


async def test_a_seed_is_an_episode_in_fresh_and_used_processes(tmp_path: Path, python: str) -> None:
    seen = []
    for seeds in ((1, 2), (2, 1)):
        async with hosted("env_browsergym", tmp_path, python) as env:
            first = {seed: await begin(env, seed, "miniwob.click-button") for seed in seeds}
            seen.append({seed: (what["instruction"], what["axtree"]) for seed, what in first.items()})
    assert seen[0] == seen[1]
    assert seen[0][1] != seen[0][2]


async def test_no_browser_outlives_its_killed_host(tmp_path: Path, python: str) -> None:
    async with hosted("env_browsergym", tmp_path, python) as env:
        await begin(env, 0, "miniwob.click-test")
        started = [child.pid for child in psutil.Process(env.process.pid).children(recursive=True)]
        assert len(started) > 5
        os.kill(env.process.pid, signal.SIGKILL)
        await eventually(lambda: all(map(is_gone, started)), within=20)


async def test_rebuilding_neither_leaves_processes_nor_grows(
    tmp_path: Path, python: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with hosted("env_browsergym", tmp_path, python) as env:
        weights, counts = [], []
        for number in range(REBUILDS):
            await begin(env, number, "miniwob.click-test")
            weights.append(env.process.tree_memory_mb())
            counts.append(len(psutil.Process(env.process.pid).children(recursive=True)))
        growth = (weights[-1] - weights[2]) / (REBUILDS - 3)
        with capsys.disabled():
            print(f"\n{counts[-1]} processes, {weights[-1]:.0f} MB, {growth:+.1f} MB a rebuild")
        assert max(counts[2:]) <= counts[2] + 2
        assert growth < 5
        assert max(weights) < 1200


def test_one_result_with_1_and_2_workers(tmp_path: Path, python: str) -> None:
    digests = []
    for workers in ("1", "2"):
        root = tmp_path / workers
        root.mkdir()
        words = ("miniwob_random", "-n", "4", "--select", "task=miniwob.click-test-2", "-w", workers)
        code, _, summary = evaltower(root, *words)
        assert (code, summary["completed_count"], summary["error_count"]) == (0, 4, 0)
        digests.append(summary["result_digest"])
    assert digests[0] == digests[1]
