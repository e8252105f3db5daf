"""ManiSkill 3 on the CPU. By hand: ``pytest -m byhand tests/byhand/test_maniskill.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.byhand.needs import interpreter_of
from tests.command import evaltower
from tests.nodesets.adapter_host import Adapter, hosted

pytestmark = [pytest.mark.byhand, pytest.mark.timeout(900)]
REBUILDS = 8


@pytest.fixture
def python() -> str:
    return interpreter_of("env_maniskill")


async def begin(env: Adapter, seed: int, **selectors: str) -> dict[str, Any]:
    assert (await env.choose(0, seed=seed, **selectors)) == {"ok": True, "side_effect": "reset"}
    return await env.fire("reset")


def reach_and_grasp(seen: dict[str, Any]) -> list[float]:
    """To above the cube, down, close, to the goal: in steps of at most 0.1 m, the gripper last."""
    told = seen["observation"]["extra"]
    hand, cube, goal = told["tcp_pose"][:3], told["obj_pose"][:3], told["goal_pos"]
    if told["is_grasped"]:
        return [*np.clip((goal - hand) * 10, -1, 1), -1.0]
    above = np.linalg.norm((cube - hand)[:2]) > 0.01
    target = cube + np.array([0, 0, 0.1 if above else 0.0])
    close = np.linalg.norm(cube - hand) < 0.015
    return [*np.clip((target - hand) * 10, -1, 1), -1.0 if close else 1.0]


async def test_a_scripted_hand_picks_the_cube(tmp_path: Path, python: str) -> None:
    succeeded = []
    async with hosted("env_maniskill", tmp_path, python) as env:
        for seed in range(5):
            seen = await begin(env, seed, obs_mode="state_dict", control_mode="pd_ee_delta_pos")
            for _ in range(50):
                seen = await env.fire("step_continuous", action=reach_and_grasp(seen))
                if seen["done"]:
                    break
            succeeded.append((await env.fire("evaluate"))["metrics"]["success"])
    assert sum(succeeded) >= 4, succeeded


async def test_a_seed_is_an_episode_in_fresh_and_used_processes(tmp_path: Path, python: str) -> None:
    played = []
    for seeds in ((1, 2), (2, 1)):
        async with hosted("env_maniskill", tmp_path, python) as env:
            ends = {}
            for seed in seeds:
                seen = await begin(env, seed)
                assert seen["observation"].shape == (42,)
                for step in range(20):
                    action = np.sin(np.arange(8) + step + seed).astype(np.float32)
                    seen = await env.fire("step_continuous", action=action)
                ends[seed] = seen["observation"].tobytes()
            played.append(ends)
    assert played[0][1] != played[0][2]
    assert played[0] == played[1]


async def test_the_camera_sees_something(tmp_path: Path, python: str) -> None:
    async with hosted("env_maniskill", tmp_path, python) as env:
        seen = await begin(env, 0, obs_mode="rgb")
        assert (seen["rgb"].shape, seen["rgb"].dtype) == ((128, 128, 3), np.uint8)
        assert seen["rgb"].std() > 10
        assert (await env.client.panel_state())["step_budget"] == 50


async def test_what_is_wrong_is_named(tmp_path: Path, python: str) -> None:
    async with hosted("env_maniskill", tmp_path, python) as env:
        refused = await env.choose(0, task="FlyToMoon-v1")
        assert "task is 'FlyToMoon-v1', none of ManiSkill's" in refused["error"]
        await begin(env, 0)
        with pytest.raises(RuntimeError, match=r"shape \(3,\) is not finite numbers of \(8,\)"):
            await env.fire("step_continuous", action=[0, 0, 0])


async def test_rebuilding_scenes_grows_no_more_than_is_known(
    tmp_path: Path, python: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with hosted("env_maniskill", tmp_path, python) as env:
        weights = []
        for number in range(REBUILDS):
            await begin(env, 0, task=("PickCube-v1", "PushCube-v1")[number % 2])
            weights.append(env.process.tree_memory_mb())
        growth = (weights[-1] - weights[2]) / (REBUILDS - 3)
        with capsys.disabled():
            print(f"\n{weights[-1]:.0f} MB, {growth:+.1f} MB a rebuild")
        assert growth < 30
        assert weights[0] < 900


def test_one_result_with_1_and_2_workers(tmp_path: Path, python: str) -> None:
    digests = []
    for workers in ("1", "2"):
        root = tmp_path / workers
        root.mkdir()
        code, _, summary = evaltower(root, "maniskill_random", "-n", "4", "-w", workers)
        assert (code, summary["completed_count"], summary["error_count"]) == (0, 4, 0)
        digests.append(summary["result_digest"])
    assert digests[0] == digests[1]
