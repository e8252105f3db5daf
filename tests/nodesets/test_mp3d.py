"""env_mp3d against a stand-in for MatterSim. No simulator is here: see the README."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests.command import evaltower
from tests.nodesets.adapter_host import hosted
from tests.nodesets.mp3d_world import SCAN, make_world


async def test_each_instruction_of_a_path_is_an_episode(tmp_path: Path) -> None:
    async with hosted("env_mp3d", tmp_path, **make_world(tmp_path / "root")) as env:
        assert (await env.client.metadata())["episode_counts"] == {"val_unseen": 6}
        assert (await env.choose(4))["ok"] is True
        state = await env.client.panel_state()
        assert state["step_budget"] == 30
        assert state["current_episode"]["episode_id"] == "21_1"
        assert state["current_episode"]["scene_id"] == SCAN
        begun = await env.fire("reset")
        assert (begun["instruction"], begun["episode_id"]) == ("Walk to the far end.", "21_1")
        assert (begun["scan_id"], begun["dataset"], begun["extras_json"]) == (SCAN, "R2R", "{}")


async def test_the_expert_walks_the_shortest_path(tmp_path: Path) -> None:
    async with hosted("env_mp3d", tmp_path, **make_world(tmp_path / "root", images=False)) as env:
        await env.choose(0)
        for _ in range(4):
            action = (await env.fire("expert_action"))["action"]
            stepped = await env.fire("step_waypoint", viewpoint_id=action)
        assert stepped["terminated"] is True
        found = await env.fire("evaluate")
        assert (found["success"], found["spl"]) == (1, 1)
        assert found["metrics"] == {
            **dict.fromkeys(("success", "spl", "soft_spl", "oracle_success", "ndtw", "sdtw"), 1.0),
            "navigation_error": 0.0,
            "path_length": 12.0,
            "length": 3,
        }
        with pytest.raises(RuntimeError, match="the agent stopped, and the episode is over"):
            await env.fire("step_waypoint", viewpoint_id="c")


async def test_a_far_viewpoint_is_walked_to_and_the_measures_are_along_the_graph(tmp_path: Path) -> None:
    async with hosted("env_mp3d", tmp_path, **make_world(tmp_path / "root")) as env:
        await env.choose(3)  # from e over b to a
        went = await env.fire("step_waypoint", viewpoint_id="c")
        assert (went["success"], went["new_viewpoint"], went["error"]) == (True, "c", "")
        edge = math.sqrt(10)
        assert went["reward"] == pytest.approx(edge + 4 - 8)
        assert float(went["turned_angle"]) == pytest.approx(-math.degrees(0.5), abs=0.06)
        await env.fire("step_waypoint", viewpoint_id="STOP")
        metrics = (await env.fire("evaluate"))["metrics"]
        assert metrics["success"] == 0
        assert metrics["navigation_error"] == 8
        assert metrics["path_length"] == pytest.approx(edge + 4)
        # e-e 0, b-b 0, and c with a: 8 m along the graph
        assert metrics["ndtw"] == pytest.approx(math.exp(-8 / (3 * 3)))


@pytest.mark.parametrize("target", ["nowhere", "x", "i", ""])
async def test_where_there_is_no_way_the_agent_is_told_and_stays(tmp_path: Path, target: str) -> None:
    async with hosted("env_mp3d", tmp_path, **make_world(tmp_path / "root")) as env:
        await env.choose(0)
        told = await env.fire("step_waypoint", viewpoint_id=target)
        assert (told["success"], told["new_viewpoint"], told["terminated"]) == (False, "a", False)
        assert told["error"] == f"{target!r} is no viewpoint to go to; next to here are b"


async def test_what_is_next_to_the_agent_is_in_the_worlds_angles(tmp_path: Path) -> None:
    async with hosted("env_mp3d", tmp_path, **make_world(tmp_path / "root")) as env:
        await env.choose(0)
        await env.fire("step_waypoint", viewpoint_id="b")
        seen = await env.fire("observe_navigable")
        assert (seen["viewpoint_id"], seen["scan_id"], seen["heading"]) == ("b", SCAN, "0.0")
        assert json.loads(seen["position_json"]) == [0, 4, 1.5]
        near = json.loads(seen["navigable_json"])
        assert set(near) == {"a", "c", "e"}
        east = {"heading": math.pi / 2, "elevation": math.atan2(1, 3), "distance": math.sqrt(10)}
        assert near["e"].pop("position") == [3, 4, 2.5]
        assert near["e"] == pytest.approx(east, abs=1e-6)


async def test_a_panorama_is_ordered_and_leaves_the_agent_as_it_was(tmp_path: Path) -> None:
    async with hosted("env_mp3d", tmp_path, **make_world(tmp_path / "root")) as env:
        await env.choose(0)
        before = await env.fire("observe_navigable")
        seen = await env.fire("observe_panorama", {"n_headings": 4})
        assert [view.shape for view in seen["views"]] == [(480, 640, 3)] * 12
        assert [view[0, 0].tolist() for view in seen["views"][:3]] == [
            [200, 0, 0],
            [200, 0, 64],
            [200, 0, 128],
        ]
        assert seen["views"][0].dtype == np.uint8
        told = json.loads(seen["view_meta"])
        assert told[5] == {
            "view_index": 5, "heading_deg": 90, "elevation_deg": 0, "direction": "90° (ahead)"
        }  # fmt: skip
        assert await env.fire("observe_navigable") == before


async def test_without_images_one_can_walk_but_not_look(tmp_path: Path) -> None:
    async with hosted("env_mp3d", tmp_path, **make_world(tmp_path / "root", images=False)) as env:
        await env.choose(0)
        with pytest.raises(RuntimeError, match="MatterSim gave no images"):
            await env.fire("observe_panorama", {"n_headings": 4})


async def test_without_viewpoint_graphs_one_line_says_what_brings_them(tmp_path: Path) -> None:
    where = make_world(tmp_path / "root")
    (tmp_path / "root" / "connectivity" / f"{SCAN}_connectivity.json").unlink()
    async with hosted("env_mp3d", tmp_path, **where) as env:
        error = (await env.choose(0))["error"]
        assert f"{SCAN}_connectivity.json: set EVALTOWER_MP3D_ROOT to a checkout" in error


async def test_what_is_missing_is_one_line(tmp_path: Path) -> None:
    where = make_world(tmp_path / "root")
    (tmp_path / "root" / "build" / "MatterSim.py").unlink()
    async with hosted("env_mp3d", tmp_path, **where) as env:
        error = (await env.choose(0))["error"]
        assert "No module named 'MatterSim'" in error
        assert "`evaltower doctor` says what is missing" in error
        error = (await env.choose(0, split="val_seen"))["error"]
        assert error.startswith(
            f"there is no {tmp_path}/root/tasks/R2R/data/R2R_val_seen.json: set EVALTOWER_MP3D_ROOT"
        )
        assert "download.sh" in error
        assert "selector episode_index is 6; it takes 0 to 5" in (await env.choose(6))["error"]


@pytest.mark.slow
def test_the_smoke_graph_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in make_world(tmp_path / "world").items():
        monkeypatch.setenv(name, value)
    code, _, summary = evaltower(tmp_path, "mp3d_expert", "--all", "-w", "2")
    assert (code, summary["completed_count"], summary["error_count"]) == (0, 6, 0)
    assert summary["aggregate_metrics"]["success"] == 1
