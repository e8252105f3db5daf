"""Runs that are scored, over REST: asked for, shown, scored again."""

from __future__ import annotations

import json

import pytest

from tests.api.client import EVAL, Client
from tests.api.conftest import Server

ONE_JUDGE = {"judges": [{"id": "style", "profile": "nowhere"}]}
STEPS = {"graders": [{"id": "steps"}]}


@pytest.mark.slow
def test_a_run_is_scored_as_it_asks_and_again_as_it_is_asked_later(client: Client) -> None:
    run_id = client.start("toy", episode_count=2, scoring=STEPS)
    before = client.wait_until(run_id)
    assert before["status"] == "completed"
    assert [row["scores"][0]["metric"] for row in before["episodes"]] == ["tool_calls", "tool_calls"]
    assert (before["scoring"]["undecided"], before["scoring"]["pending"]) == (2, 0)
    client.wait_until_idle()
    more = {"graders": [{"id": "steps"}, {"id": "cost"}]}
    asked = client.post(f"{EVAL}/runs/{run_id}/rescore", scoring=more)
    assert asked == {"run_id": run_id, "status": "queued"}
    client.wait_until_idle()
    after = client.run(run_id)
    assert [[score["metric"] for score in row["scores"]] for row in after["episodes"]] == [
        ["tool_calls", "usd"]
    ] * 2
    same = ("status", "finished_at", "elapsed_sec", "result_digest", "created_at")
    assert [after[name] for name in same] == [before[name] for name in same]
    assert client.post(f"{EVAL}/runs/{run_id}/rescore")["run_id"] == run_id
    client.wait_until_idle()


@pytest.mark.slow
def test_a_run_that_is_not_scored_has_no_scoring(client: Client) -> None:
    run_id = client.start("toy", episode_count=1)
    assert client.wait_until(run_id)["scoring"] is None
    client.wait_until_idle()
    answer = client.http.post(f"{EVAL}/runs/{run_id}/rescore", json={})
    assert (answer.status_code, "was not scored" in answer.json()["detail"]) == (409, True)


@pytest.mark.parametrize(("path", "more"), [("start", {"graph_name": "toy"}), ("runs/{}/rescore", {})])
def test_what_is_wrong_with_it_is_400_with_every_reason(
    client: Client, path: str, more: dict[str, str]
) -> None:
    run_id = client.start("toy", episode_count=1)
    client.wait_until(run_id)
    client.wait_until_idle()
    wrong = {**ONE_JUDGE, "graders": [{"id": "stepps"}], "error_budget": 7}
    answer = client.http.post(f"{EVAL}/{path.format(run_id)}", json={**more, "scoring": wrong})
    assert answer.status_code == 400
    assert {problem["where"] for problem in answer.json()["problems"]} == {
        "scoring.graders[0].id",
        "scoring.judges[0].profile",
        "scoring.error_budget",
    }


def test_one_that_is_not_there_or_queued_is_not_scored_again(client: Client) -> None:
    assert client.http.post(f"{EVAL}/runs/20200101_000000/rescore", json={}).status_code == 404
    client.post(f"{EVAL}/queue/pause")
    try:
        run_id = client.start("toy", episode_count=1, scoring=STEPS)
        answer = client.http.post(f"{EVAL}/runs/{run_id}/rescore", json={})
        assert (answer.status_code, answer.json()["code"]) == (409, "still_alive")
        client.cancel(run_id)
    finally:
        client.post(f"{EVAL}/queue/resume")


@pytest.mark.slow
def test_the_file_beside_a_saved_graph_counts_for_clients_of_old(shared: Server, client: Client) -> None:
    path = shared.root / "workspace" / "graphs" / "toy.scoring.json"
    path.write_text(json.dumps(STEPS))
    try:
        found = client.wait_until(client.start("toy", episode_count=1))
    finally:
        path.unlink()
    assert [score["metric"] for score in found["episodes"][0]["scores"]] == ["tool_calls"]
    client.wait_until_idle()
