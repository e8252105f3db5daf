"""Real runs of a graph with a chat model, against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from engine.evaluation.models import longest_calls_sec, open_chat
from engine.graph.read import parse_graph
from engine.models.errors import ProfileError
from engine.models.retrying import LONGEST_PAUSE_SEC
from engine.store.rundir import RunDir
from engine.store.settings import SettingsError
from tests.fakes.chat_server import ChatServer, chat_server, fails
from tests.fakes.graphs import gridhouse_llm_graph, llm_graph
from tests.fakes.real_runs import finished, make_root

KEY = "sk-0123456789-abcdefghij"
GRAPH = llm_graph()
WORDS = ("LEFT", "RIGHT", "LEFT it is, not right.\nRIGHT", "I stay\u2028STOP", "no\ud83d idea")


def by_draw(body: dict[str, Any]) -> str:
    """What a server with seeds would say: another draw, another answer."""
    asked = json.dumps([body["messages"], body.get("seed")]).encode()
    return WORDS[int.from_bytes(blake2b(asked, digest_size=4).digest(), "big") % len(WORDS)]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHAT_KEY", KEY)
    return make_root(tmp_path)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(answer=by_draw) as running:
        yield running


def settle(root: Path, server: ChatServer, **fields: Any) -> None:
    """Write evaltower.toml with one profile for the server."""
    profile = {"base_url": server.url, "model": "tiny", "api_key_env": "CHAT_KEY", **fields}
    lines = [f"{name} = {json.dumps(value)}" for name, value in profile.items()]
    (root / "evaltower.toml").write_text("\n".join(["[profiles.local]", *lines]))


def play(root: Path, **request: Any) -> RunDir:
    run = finished(root, GRAPH, **{"episode_count": 20, **request})
    summary = run.read_summary()
    assert summary.status == "completed", summary.error
    return run


@pytest.mark.slow
def test_one_digest_at_1_and_8_workers_and_again_without_a_request(root: Path, server: ChatServer) -> None:
    settle(root, server, determinism="seeded", cache="one.jsonl")
    one = play(root, worker_count=1)
    asked_by_one = len(server.asked)
    settle(root, server, determinism="seeded", cache="eight.jsonl", concurrency=4)
    server.acts.extend([fails(429, Retry_After="0"), fails(500)])
    eight = play(root, worker_count=8)
    asked = len(server.asked)
    again = play(root, worker_count=3)

    summaries = [run.read_summary() for run in (one, eight, again)]
    assert len({summary.result_digest for summary in summaries}) == 1
    assert {row.status for row in summaries[0].episodes} == {"completed"}
    assert len({row.trajectory_digest for row in summaries[0].episodes}) == 20
    assert asked == 2 * asked_by_one + 2
    assert len(server.asked) == asked
    assert 1 <= server.most_at_once <= 4
    for run in (one, eight, again):
        assert run.read_environment().determinism == "seeded"
    for file in root.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file


def test_what_each_call_was_and_cost_is_with_its_episode(root: Path, server: ChatServer) -> None:
    settle(root, server)
    run = play(root, episode_count=1)
    (model,) = run.read_environment().models
    assert (model.profile, model.model, model.base_url, model.determinism) == (
        "local",
        "tiny",
        server.url,
        "none",
    )
    assert run.read_environment().determinism == "none"
    assert run.model_cache.is_file()
    folder = run.episodes / "ep0000"
    fired = [json.loads(line) for line in (folder / "log.jsonl").read_bytes().split(b"\n") if line]
    calls = [line for line in fired if line["node_id"] == "ask"]
    usage = [entry["value"] for line in calls for entry in line["inner_log"] if entry["key"] == "usage"]
    assert [found["prompt_tokens"] for found in usage] == [10] * len(server.asked)
    events = [json.loads(line) for line in (folder / "trace.jsonl").read_bytes().split(b"\n") if line]
    kinds = [event["kind"] for event in events if event["node_id"] == "ask"]
    assert kinds == ["message", "llm_call", "message"] * len(server.asked)
    content = server.bodies[0]["messages"][0]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"]


@pytest.mark.slow
def test_a_server_that_is_away_costs_the_episode_and_is_no_verdict(root: Path, server: ChatServer) -> None:
    settle(root, server, retries=0)
    server.acts.extend([fails(503)] * 2)
    run = finished(root, GRAPH, episode_count=2, retries=1)
    summary = run.read_summary()
    lost, kept = summary.episodes
    assert kept.status == "completed"
    assert (lost.status, lost.termination, lost.error_class) == ("error", "exception", "infra")
    told = "ask at step 0: profile 'local' (tiny): HTTP 503 Service Unavailable: no luck (tries: 1)"
    assert lost.error == told
    assert summary.aggregate_metrics == kept.metrics


@pytest.mark.slow
def test_a_request_that_is_refused_is_the_graph_s_error(root: Path, server: ChatServer) -> None:
    settle(root, server)
    server.acts.append(fails(404, {"error": {"message": f"no such model, {KEY}"}}))
    (row,) = finished(root, GRAPH, episode_count=1).read_summary().episodes
    assert (row.status, row.termination, row.error_class) == ("error", "node_error", "graph")
    assert (
        row.error
        == "ask at step 0: ChatRefused: profile 'local' (tiny): HTTP 404 Not Found: no such model, [key]"
    )


def test_a_run_without_its_model_does_not_begin(root: Path) -> None:
    run = finished(root, GRAPH, episode_count=1)
    summary = run.read_summary()
    assert (summary.status, summary.episodes) == ("error", [])
    told = "node 'ask': there is no profile of a model (add [profiles.NAME] to evaltower.toml)"
    assert summary.error == told
    assert run.is_done()


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ("[profile.local]\n", SettingsError, "evaltower.toml: there is no section 'profile'"),
        (
            '[profiles.a]\nbase_url = "http://h"\nmodel = "m"\napi_key_env = "NOT_SET_HERE"\n',
            ProfileError,
            "node 'ask': the environment variable NOT_SET_HERE is not set",
        ),
    ],
)
def test_what_keeps_it_from_its_model_is_named(
    root: Path, settings: str, error: type[Exception], told: str
) -> None:
    (root / "evaltower.toml").write_text(settings)
    with pytest.raises(error, match=told):
        open_chat(RunDir(root / "outputs" / "eval_runs" / "x"), parse_graph(GRAPH))


def test_an_episode_is_given_the_time_that_its_models_may_take(root: Path, server: ChatServer) -> None:
    settle(root, server, timeout_sec=50, retries=1)
    graph = parse_graph(GRAPH)
    chat, _ = open_chat(RunDir(root / "outputs" / "eval_runs" / "x"), graph)
    assert longest_calls_sec(chat, graph) == 2 * (50 + LONGEST_PAUSE_SEC)


def by_draw_in_a_house(body: dict[str, Any]) -> str:
    asked = json.dumps([body["messages"], body.get("seed")]).encode()
    return ("forward", "turn_left", "turn_right")[blake2b(asked, digest_size=1).digest()[0] % 3]


@pytest.mark.slow
def test_a_chat_model_walks_gridhouse_with_one_digest_and_again_without_a_request(root: Path) -> None:
    graph, cache = gridhouse_llm_graph(), root / "answers.jsonl"
    with chat_server(answer=by_draw_in_a_house) as server:
        settle(root, server, cache=cache.name)
        asked = {"episode_count": 20, "step_budget": 3}
        digests = []
        for workers in (1, 8):
            cache.unlink(missing_ok=True)
            digests.append(finished(root, graph, worker_count=workers, **asked).read_summary().result_digest)
        requests = len(server.asked)
        again = finished(root, graph, worker_count=3, **asked).read_summary()
        assert again.error is None
        assert (again.status, again.error_count, again.completed_count) == ("completed", 0, 20)
        assert {*digests, again.result_digest} == {again.result_digest}
        assert len(server.asked) == requests > 0
