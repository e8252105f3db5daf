"""env_simpler against a stand-in for SimplerEnv. No simulator is here: see the README."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.command import invoke
from tests.fakes.real_runs import finished
from tests.nodesets.adapter_host import NODESETS, SIMULATORS, hosted

HERE = {"PYTHONPATH": str(SIMULATORS / "simpler")}
DOWN = [0, 0, -1, 0, 0, 0, 1]


async def test_an_episode_ends_at_its_success(tmp_path: Path) -> None:
    async with hosted("env_simpler", tmp_path, **HERE) as env:
        assert (await env.choose(2, task_id="widowx_stack_cube"))["ok"] is True
        state = await env.client.panel_state()
        assert state == {
            "current_episode": {
                "episode_id": "bridge/widowx_stack_cube/2",
                "scene_id": "widowx_stack_cube",
                "instruction": "stack cube",
                "split": "bridge",
                "task_id": "widowx_stack_cube",
                "max_steps": 60,
            },
            "step_budget": 60,
        }
        begun = await env.fire("reset")
        assert (begun["instruction"], begun["max_steps"]) == ("stack cube", 60)
        first = await env.fire("step_continuous", action=json.dumps(DOWN))
        assert (first["terminated"], first["step_index"], first["reward"]) == (False, 1, 0)
        rest = await env.fire("step_continuous", action=[DOWN] * 20)
        assert (rest["terminated"], rest["truncated"], rest["success"]) == (True, False, True)
        assert rest["step_index"] == 7  # 0.32 m, by 0.05 each; what was left of the chunk was not played
        assert rest["info"] == {
            "step_index": 7, "success": True, "cumulative_reward": 1.0, "instruction": "stack cube"
        }  # fmt: skip
        metrics = (await env.fire("evaluate"))["metrics"]
        assert metrics == {"success": 1.0, "num_steps": 7, "cumulative_reward": 1.0}


async def test_the_limit_truncates_and_then_ends_the_loop(tmp_path: Path) -> None:
    async with hosted("env_simpler", tmp_path, **HERE) as env:
        await env.choose(0, split="google_robot")
        up = [0, 0, 9, 0, 0, 0, 0]  # is clipped
        limited = await env.fire("step_continuous", action=[up] * 60)
        assert (limited["terminated"], limited["truncated"], limited["success"]) == (False, True, False)
        after = await env.fire("step_continuous", action=up)
        assert (after["terminated"], after["step_index"]) == (True, 60)
        await env.fire("reset")
        config = {"max_chunk_steps": 8}
        assert (await env.fire("step_continuous", config, action=[up] * 60))["step_index"] == 8


@pytest.mark.parametrize("split", ["bridge", "google_robot"])
async def test_each_robot_is_seen_through_its_own_camera(tmp_path: Path, split: str) -> None:
    async with hosted("env_simpler", tmp_path, **HERE) as env:
        await env.choose(0, split=split)
        seen = await env.fire("observe_egocentric")
        assert (seen["rgb"].shape, seen["rgb"].dtype) == ((48, 64, 3), np.uint8)
        assert (seen["agentview_image"] == seen["rgb"]).all()
        assert len(seen["observation"]) == 1
        assert seen["wrist_image"] is None
        assert (seen["state"].shape, seen["state"].dtype) == ((23,), np.float32)


async def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    async with hosted("env_simpler", tmp_path, **HERE) as env:
        unknown = (await env.choose(split="franka"))["error"]
        assert unknown == "selector split is 'franka'; it takes bridge, google_robot"
        wrong = await env.choose(task_id="google_robot_pick_coke_can")
        assert "task_id is 'google_robot_pick_coke_can'; it takes widowx_spoon_on_towel" in wrong["error"]
        await env.choose(0)
        for action in ("up", "[1, 2]", [float("nan")] * 7, None):
            with pytest.raises(RuntimeError, match="action"):
                await env.fire("step_continuous", action=action)


async def test_without_simplerenv_one_line_says_so(tmp_path: Path) -> None:
    async with hosted("env_simpler", tmp_path) as env:
        error = (await env.choose(0))["error"]
        assert "No module named 'simpler_env'" in error
        assert "`evaltower doctor` says what is missing" in error


@pytest.mark.slow
def test_the_smoke_graph_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the run's process alone: what starts one asks for the card that the stand-in does without."""
    monkeypatch.setenv("PYTHONPATH", HERE["PYTHONPATH"])
    graph = json.loads((NODESETS / "env_simpler" / "graphs" / "simpler_random.json").read_text("utf-8"))
    summary = finished(tmp_path, graph, episode_count=2).read_summary()
    assert (summary.status, summary.completed_count, summary.error_count) == ("completed", 2, 0)
    assert {row.scene_id for row in summary.episodes} == {"widowx_spoon_on_towel"}


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has the card")
def test_without_a_card_it_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", HERE["PYTHONPATH"])
    done = invoke(tmp_path, "run", "simpler_random", "-n", "2")
    assert done.returncode == 1
    assert "needs an NVIDIA card, and /dev/nvidiactl is not there" in done.stderr
