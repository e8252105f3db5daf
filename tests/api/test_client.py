"""What a client does that knows nothing but the contract."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.client import EVAL, Client
from tests.api.conftest import Server

SUBMIT = Path(__file__).parent / "submit.py"


def submit(server: Server, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SUBMIT), server.url, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",  # where the project cannot be imported
    )


def test_a_run_from_start_to_end(client: Client) -> None:
    assert client.get(f"{EVAL}/status") == {"status": "none", "run": None}
    run_id = client.start("gridhouse_expert", episode_count=4, worker_count=2, max_steps=200, label="first")
    current = client.get(f"{EVAL}/status")
    assert current["run"]["run_id"] == run_id
    assert current["status"] in ("pending", "running")
    assert current["run"]["graph_name"] == "gridhouse_expert"
    assert client.run(run_id)["scheduler_state"] in ("queued", "pending", "running")
    done = client.wait_until(run_id)
    assert done["status"] == done["scheduler_state"] == "completed"
    assert done["config"]["step_budget"] == 200
    assert [row["episode_index"] for row in done["episodes"]] == [0, 1, 2, 3]
    assert done["aggregate_metrics"]["success"] == 1.0
    exported = client.get(f"{EVAL}/export/{run_id}")
    assert exported["episodes"] == done["episodes"]
    listed = client.get(f"{EVAL}/runs")["runs"][0]
    assert (listed["run_id"], listed["episode_count_saved"], listed["label"]) == (run_id, 4, "first")
    assert "episodes" not in listed
    client.wait_until_idle()
    assert client.get(f"{EVAL}/episodes") == {"status": "none", "run": None, "episodes": []}


def test_the_submission_script_ends_with_how_the_run_did(shared: Server) -> None:
    with submit(shared, "toy", "episode_count=2") as script:
        output, _ = script.communicate(timeout=60)
    assert script.returncode == 0
    assert "final completed" in output
    with submit(shared, "no_such_graph") as script:
        _, errors = script.communicate(timeout=60)
    assert script.returncode == 2
    assert "no graph is called 'no_such_graph'" in json.loads(errors)["detail"]


@pytest.mark.slow
def test_ctrl_c_cancels(shared: Server, client: Client) -> None:
    with submit(shared, "gridhouse_random", "episode_count=500") as script:
        assert script.stdout is not None
        run_id = script.stdout.readline().strip()
        client.wait_until(run_id, episodes=1)
        script.send_signal(signal.SIGINT)
        output, errors = script.communicate(timeout=60)
    assert script.returncode == 130, errors
    assert "final cancelled" in output
    assert client.run(run_id)["status"] == "cancelled"
    client.wait_until_idle()
    answer = client.http.post(f"{EVAL}/runs/{run_id}/cancel", json={})
    assert answer.status_code == 409
    assert "over already: cancelled" in answer.json()["detail"]


def test_a_queued_run_is_cancelled_at_once(client: Client) -> None:
    client.post(f"{EVAL}/queue/pause")
    try:
        run_id = client.start("toy", episode_count=2)
        assert client.run(run_id)["scheduler_state"] == "queued"
        assert client.run(run_id)["waits"]
        waiting = client.queue()["queued"][0]
        assert waiting["run_id"] == run_id
        assert waiting["position"] == 1
        assert client.post(f"{EVAL}/stop") == {"run_id": run_id, "status": "cancelled"}
        assert client.run(run_id)["status"] == "cancelled"
    finally:
        client.post(f"{EVAL}/queue/resume")
    assert client.http.post(f"{EVAL}/stop").status_code == 404


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, ["graph_name: is missing"]),
        ({"graph_name": "toy", "worker_count": "two"}, ["worker_count: expected int, got str"]),
        ({"graph_name": "toy", "worker_count": 0, "retries": -1}, ["worker_count: is 0", "retries: is -1"]),
        ({"graph_name": "toyy", "episode_count": -7}, ["episode_count: is -7", "near: toy"]),
        ({"graph_name": "toy", "episode_selectors": [{}]}, ["has 1 for no episode_indices"]),
        (
            {"graph_name": "toy", "episode_indices": [1], "episode_selectors": [{"episode_index": 1}]},
            ["holds episode_index"],
        ),
        ({"graph_name": "toy", "active_workspace_dir": "not/absolute"}, ["not/absolute is relative"]),
        ({"graph_name": "toy", "active_workspace_dir": "/not/there"}, ["/not/there is not a folder"]),
        ({"graph_name": "broken", "graph": {"nodes": [{"id": "x", "type": "no_such__node"}]}}, ["no_such"]),
        ({"graph_name": "../../secret"}, ["'../../secret' is not the name of a saved graph"]),
        ({"worker_count": 0}, ["graph_name: is missing", "worker_count: is 0"]),
        (
            {"graph_name": "toy", "worker_count": 0, "episode_count": 0, "priority": "u", "label": 7},
            [
                "worker_count: is 0",
                "episode_count: is 0",
                "priority: is 'u' (it must be one of high, normal, low)",
                "label: expected str, got int",
            ],
        ),
        (
            {"graph_name": "toy", "gpus": ["a", 1], "retries": None},
            ["gpus[1]: expected str", "retries: expected int"],
        ),
        ({"graph_name": "toy", "marginal_vram_mb": -1}, ["marginal_vram_mb"]),
        (
            {"graph_name": "gridhouse_random", "selectors": {"slip": ""}, "split": "val", "dataset": "nope"},
            [
                "selectors.slip: is empty (give it a value",
                "split: is 'val', which",
                "env_gridhouse has no data",
            ],
        ),
    ],
)
def test_a_refused_start_says_all_that_is_wrong(
    client: Client, body: dict[str, object], told: list[str]
) -> None:
    before = client.get(f"{EVAL}/runs")
    answer = client.http.post(f"{EVAL}/start", json=body)
    assert answer.status_code == 400
    for part in told:
        assert part in answer.json()["detail"]
    assert client.get(f"{EVAL}/runs") == before


def test_of_a_field_that_cannot_be_read_nothing_else_is_said(client: Client) -> None:
    body = {"graph_name": "toy", "episode_indices": ["a"], "episode_selectors": [{}]}
    failure = client.http.post(f"{EVAL}/start", json=body).json()
    assert [problem["where"] for problem in failure["problems"]] == ["episode_indices[0]"]


AGENTCANVAS_FIELDS: dict[str, object] = {
    "dataset": "", "split": "", "selectors": {}, "episode_count": 1, "max_steps": 5, "start_episode_index": 0,
    "worker_count": 1, "per_step_budget_sec": None, "episode_indices": None, "episode_selectors": None,
    "via_subprocess": False, "marginal_vram_mb": 0, "exclusive_gpu": False, "priority": "high",
    "active_workspace_dir": None,
}  # fmt: skip
"""Every field that its clients send, ``max_steps`` by the name it had before."""


def test_every_field_of_agentcanvas_is_taken(client: Client) -> None:
    done = client.wait_until(client.start("toy", **AGENTCANVAS_FIELDS))
    assert done["status"] == "completed", done


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        (
            f"{EVAL}/start",
            {"graph_name": "toy", "epsiode_count": 2, "step_buget": 1, "e": 0, "worker_count": 0},
            [
                "epsiode_count: is no field of this request (did you mean 'episode_count'",
                "step_buget: is no field of this request (did you mean 'step_budget'",
                "e: is no field",
                "worker_count: is 0",
            ],
        ),
        (f"{EVAL}/play", {"graph_name": "toy", "episodes": 1}, ["episodes: is no field", "'episode'"]),
        (f"{EVAL}/introspect", {"graph": "toy"}, ["graph: is no", "'graph_name'", "graph_name: is missing"]),
        (f"{EVAL}/estimate", {"graph_name": "toy", "workers": 2}, ["workers: is no field", "worker"]),
        ("/api/graphs/validate", {"graph": {}, "workspace": []}, ["did you mean 'workspaces'"]),
        (f"{EVAL}/runs/last/cancel", {"grace": 0}, ["grace: is no field", "'grace_sec'"]),
        (f"{EVAL}/runs/last/resume", {"error": True}, ["did you mean 'errors'"]),
        (f"{EVAL}/runs/last/rescore", {"scorings": {}}, ["did you mean 'scoring'"]),
        (f"{EVAL}/runs/last/move", {"positon": 1}, ["positon: is no", "position: is missing"]),
        (f"{EVAL}/runs/last/priority", {"prio": "low"}, ["prio: is no field"]),
        (f"{EVAL}/runs/last/hold", {"why": "x"}, ["why: is no field of this request (its fields: none)"]),
        (f"{EVAL}/play/last/step", {"n": 3}, ["n: is no field of this request (its fields: 'steps')"]),
        (f"{EVAL}/queue/pause", {"for": 3}, ["for: is no field"]),
        ("/api/system/backend/stop", {"cancle": True}, ["did you mean 'cancel'"]),
    ],
)
def test_a_field_that_a_request_does_not_have_is_refused(
    client: Client, path: str, body: dict[str, object], told: list[str]
) -> None:
    answer = client.http.post(path, json=body)
    assert answer.status_code == 400
    for part in told:
        assert part in answer.json()["detail"]
    assert not client.queue()["queued"]
