"""env_habitat against stand-ins of both generations of habitat-lab. No simulator is here: see the README."""

from __future__ import annotations

import base64
import gzip
import io
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.command import evaltower
from tests.nodesets.adapter_host import SIMULATORS, hosted

YACS, HYDRA = ({"EVALTOWER_HABITAT_ROOT": str(SIMULATORS / "habitat" / kind)} for kind in ("yacs", "hydra"))


@pytest.mark.parametrize(
    ("where", "dataset", "split", "scene", "instruction"),
    [
        (YACS, "R2R-CE", "val_seen", "scene1", "Walk ahead, val_seen."),
        (YACS, "RxR-CE", "val_unseen_hi", "scene1", "Walk ahead, val_unseen."),
        (HYDRA, "R2R", "val_unseen", "scene1", "Walk ahead, val_unseen."),
        (HYDRA, "ObjectNav-HM3D", "val", "scene1", "find a tv monitor"),
    ],
)
async def test_the_expert_reaches_the_goal_of_every_task(
    tmp_path: Path, where: dict[str, str], dataset: str, split: str, scene: str, instruction: str
) -> None:
    async with hosted("env_habitat", tmp_path, **where) as env:
        assert (await env.choose(1, dataset=dataset, split=split))["ok"] is True
        state = await env.client.panel_state()
        assert state["step_budget"] == 500
        assert state["current_episode"] == {
            "episode_id": "101",
            "scene_id": scene,
            "instruction": instruction,
        }
        counts = (await env.client.metadata())["episode_counts"]
        assert counts == {split: 3}
        assert await env.fire("reset") == state["current_episode"]
        metrics = await env.until_done("expert_action", "step_discrete", 100)
        assert metrics["success"] == 1
        assert metrics["spl"] == pytest.approx(1, abs=0.05)
        assert metrics["navigation_error"] <= 0.5
        assert ("ndtw" in metrics) is dataset.startswith("R")


async def test_what_is_seen_is_what_a_policy_is_fed(tmp_path: Path) -> None:
    async with hosted("env_habitat", tmp_path, **YACS) as env:
        await env.choose(0)
        await env.fire("step_discrete", action="TURN_LEFT")
        seen = await env.fire("observe_egocentric")
        assert (seen["rgb"].shape, seen["rgb"].dtype) == ((24, 32, 3), np.uint8)
        assert (seen["depth"].shape, seen["depth"].dtype) == ((24, 32), np.float32)
        assert seen["raw_obs"]["depth"].shape == (24, 32, 1)
        assert seen["raw_obs"]["instruction"]["tokens"] == [1, 2, 0]
        assert seen["instruction_text"] == "Walk ahead, val_unseen."
        half = math.radians(15) / 2
        assert seen["pose"]["position"] == [0, 0, 0]
        assert seen["pose"]["orientation"] == pytest.approx([0, math.sin(half), 0, math.cos(half)])


async def test_a_panorama_goes_round_to_the_left_and_moves_nobody(tmp_path: Path) -> None:
    async with hosted("env_habitat", tmp_path, **YACS) as env:
        await env.choose(0)
        before = (await env.fire("observe_egocentric"))["pose"]
        seen = await env.fire("observe_panorama", {"n_views": 4})
        assert seen["n_views"] == 4
        assert [turn["heading_deg"] for turn in json.loads(seen["directions"])] == [0, 90, 180, 270]
        red = [_png(view["rgb_base64"])[0, 0, 0] for view in seen["views"]]
        assert red == [0, 64, 128, 191]
        raw = _png(seen["views"][0]["depth_raw_base64"])
        assert (int(raw.min()), int(raw.max())) == (0, 1000)
        assert (await env.fire("observe_egocentric"))["pose"] == before


async def test_turn_and_go_walks_in_steps_and_nothing_is_stop(tmp_path: Path) -> None:
    async with hosted("env_habitat", tmp_path, **YACS) as env:
        await env.choose(0)
        went = await env.fire("step_hightolow", angle=str(math.pi / 2), distance="1.1")
        assert went["info"]["position"] == pytest.approx([-1, 0, 0], abs=1e-6)
        assert went["info"]["step_count"] == 4
        assert (went["terminated"], went["truncated"]) == (False, False)
        assert (await env.fire("step_hightolow", angle=0, distance=0))["terminated"] is True
        with pytest.raises(RuntimeError, match="the agent stopped, and the episode is over"):
            await env.fire("step_discrete", action=1)


async def test_habitats_own_limit_truncates_and_then_ends_the_loop(tmp_path: Path) -> None:
    async with hosted("env_habitat", tmp_path, **YACS) as env:
        await env.choose(0, overrides="ENVIRONMENT.MAX_EPISODE_STEPS=2")
        stepped = [await env.fire("step_discrete", action=3) for _ in range(3)]
        assert [step["truncated"] for step in stepped] == [False, True, True]
        assert [step["terminated"] for step in stepped] == [False, False, True]
        metrics = (await env.fire("evaluate"))["metrics"]
        assert (metrics["success"], metrics["length"], metrics["path_length"]) == (0, 2, 0)
        assert metrics["oracle_success"] == 0
        await env.fire("reset")
        assert (await env.fire("evaluate"))["metrics"]["length"] == 0


async def test_turning_costs_no_ndtw_and_the_true_path_counts_where_there_is_one(tmp_path: Path) -> None:
    shutil.copytree(SIMULATORS / "habitat", tmp_path / "habitat")
    root = tmp_path / "habitat" / "yacs"
    truth = root / "data/datasets/R2R_VLNCE_v1-3_preprocessed/val_unseen"
    truth.mkdir(parents=True)
    path = [[0, 0, 0], [0, 0, -0.25], [0, 0, -0.5]]
    with gzip.open(truth / "val_unseen_gt.json.gz", "wt") as stream:
        json.dump({"100": {"locations": path, "actions": [1, 1, 0]}}, stream)
    async with hosted("env_habitat", tmp_path, EVALTOWER_HABITAT_ROOT=str(root)) as env:
        await env.choose(0)
        for action in (1, 2, 3, 2, 3, 1):
            await env.fire("step_discrete", action=action)
        assert (await env.fire("evaluate"))["metrics"]["ndtw"] == pytest.approx(1)


async def test_a_wrong_selector_is_named(tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, object], str]] = [
        ({"dataset": "R4R"}, "selector dataset is 'R4R'; it takes R2R-CE, RxR-CE"),
        ({"split": "val"}, "selector split is 'val'; it takes val_unseen"),
        ({"overrides": "SIMULATOR=1"}, "selector overrides is 'SIMULATOR=1': habitat refuses: "),
        ({"overrides": "SIMULATOR"}, "selector overrides: 'SIMULATOR' is not KEY=VALUE"),
        ({"index": 3}, "selector episode_index is 3; it takes 0 to 2"),
        ({"index": -1}, "selector episode_index is -1; it takes a whole number from 0 to "),
    ]
    async with hosted("env_habitat", tmp_path, **YACS) as env:
        for selectors, told in wrong:
            answer = await env.choose(**selectors)  # type: ignore[arg-type]
            assert answer["ok"] is False
            assert told in answer["error"]


async def test_an_action_or_a_sensor_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with hosted("env_habitat", tmp_path, **YACS) as env:
        await env.choose(0)
        with pytest.raises(RuntimeError, match="action 'jump' is not one of stop, move_forward"):
            await env.fire("step_discrete", action="jump")
        with pytest.raises(
            RuntimeError, match="config n_views is 'many'; it takes a whole number of at least 1"
        ):
            await env.fire("observe_panorama", {"n_views": "many"})
        with pytest.raises(RuntimeError, match="angle 'left' and distance '1': not numbers"):
            await env.fire("step_hightolow", angle="left", distance="1")
        with pytest.raises(RuntimeError, match="use the selector overrides"):
            await env.fire("reset", {"rgb_resolution": "1024"})


async def test_without_habitat_one_line_says_so(tmp_path: Path) -> None:
    async with hosted("env_habitat", tmp_path, EVALTOWER_HABITAT_ROOT=str(tmp_path)) as env:
        answer = await env.choose(0)
        assert answer["ok"] is False
        assert "No module named 'habitat_extensions'" in answer["error"]
        assert "`evaltower doctor` says what is missing" in answer["error"]
        assert "\n" not in answer["error"]


@pytest.mark.slow
def test_the_smoke_graph_runs_the_same_with_1_and_2_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALTOWER_HABITAT_ROOT", HYDRA["EVALTOWER_HABITAT_ROOT"])
    monkeypatch.setenv("PYTHONPATH", str(SIMULATORS / "habitat" / "sim"))
    words = ("habitat_expert", "--dataset", "R2R", "--split", "val_seen", "--all")
    roots = [tmp_path / workers for workers in ("1", "2")]
    for root in roots:
        root.mkdir()
    (one, run, first), (two, _, second) = (evaltower(root, *words, "-w", root.name) for root in roots)
    assert (one, two, first["completed_count"]) == (0, 0, 3)
    assert first["result_digest"] == second["result_digest"]
    assert first["aggregate_metrics"]["success"] == 1
    assert {row["scene_id"] for row in first["episodes"]} == {"scene0", "scene1", "scene2"}
    assert any((run / "episodes" / "ep0000" / "assets").iterdir())


def _png(text: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))
