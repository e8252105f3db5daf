from __future__ import annotations

import httpx
import pytest

from engine.scoring.sinks import ExportError, make_sink
from engine.scoring.spec import SinkSpec
from tests.fakes.platforms.langsmith_sink import SESSION, TENANT, LangSmithSink
from tests.fakes.platforms.sink_server import running, says
from tests.scoring.sinks.items import NAMES, SCORED_AGAIN, item


def _spec(server: LangSmithSink, project: str = "evals") -> SinkSpec:
    return SinkSpec(name="smith", kind="langsmith", endpoint=server.url, project=project)


@pytest.mark.case(46)
async def test_create_sends_a_run_with_its_children_and_feedback_a_score(client: httpx.AsyncClient) -> None:
    async with running(LangSmithSink(needs_session=True)) as server:
        outcome = await make_sink(_spec(server), "ls-key-123456", client).export(item())

        run_id = outcome.external_id
        assert outcome.error is None
        assert outcome.url == f"{server.url}/o/{TENANT}/projects/p/{SESSION}/r/{run_id}?poll=true"
        assert {seen.headers["x-api-key"] for seen in server.seen} == {"ls-key-123456"}
        assert len(server.sent("/runs/multipart")) == 1
        root, *children = server.runs.values()
        assert (root["id"], root["run_type"], root["session_name"]) == (run_id, "chain", "evals")
        assert [child["run_type"] for child in children] == ["chain", "llm", "tool", "chain"]
        assert {child["parent_run_id"] for child in children} == {run_id}
        assert root["dotted_order"] == f"20260801T100000000000Z{run_id}"
        assert all(child["dotted_order"].startswith(root["dotted_order"] + ".") for child in children)
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "total_cost": 0.25}
        assert children[1]["outputs"] == {"usage_metadata": usage}
        assert children[1]["extra"]["metadata"]["ls_model_name"] == "gpt-tiny"
        assert children[2]["error"] == "no such file"
        feedback = list(server.feedback.values())
        assert [one["key"] for one in feedback] == NAMES
        assert [one["score"] for one in feedback] == [1.0, 0.1235, 0.5]
        assert [one["feedback_source"]["type"] for one in feedback] == ["api", "model", "model"]
        assert {(one["run_id"], one["session_id"]) for one in feedback} == {(run_id, SESSION)}


@pytest.mark.case(46)
async def test_attach_sends_feedback_alone(client: httpx.AsyncClient) -> None:
    there = "33333333-3333-4333-8333-333333333333"
    async with running(LangSmithSink()) as server:
        outcome = await make_sink(_spec(server), None, client).export(item(existing_id=there))

        assert outcome.external_id == there
        assert {one["run_id"] for one in server.feedback.values()} == {there}
        assert not server.runs


@pytest.mark.case(49)
async def test_feedback_that_comes_before_its_run_is_sent_once_more(client: httpx.AsyncClient) -> None:
    async with running(LangSmithSink(late=1)) as server:
        outcome = await make_sink(_spec(server), None, client).export(item())

        assert outcome.error is None
        assert len(server.sent("/feedback")) == 4
        assert len(server.feedback) == 3


@pytest.mark.case(49)
async def test_and_no_more_than_once(client: httpx.AsyncClient) -> None:
    async with running(LangSmithSink(late=2)) as server:
        outcome = await make_sink(_spec(server), None, client).export(item())

        assert (outcome.error or "").startswith("1 of 3 scores were refused: tests_pass: HTTP 404")
        assert [one["key"] for one in server.feedback.values()] == NAMES[1:]


async def test_a_server_without_multipart_gets_runs_one_by_one(client: httpx.AsyncClient) -> None:
    async with running(LangSmithSink(multipart=False)) as server:
        sink = make_sink(_spec(server), None, client)
        outcome = await sink.export(item(key="k"))
        again = await sink.export(item(key="k"))

        assert (outcome.error, again.error) == (None, None)
        assert len(server.runs) == 5
        assert server.runs[outcome.external_id]["name"] == "fixer"


@pytest.mark.case(50)
async def test_the_same_key_gives_the_same_run_and_feedback(client: httpx.AsyncClient) -> None:
    async with running(LangSmithSink()) as server:
        sink = make_sink(_spec(server), None, client)
        first, again = await sink.export(item(key="k")), await sink.export(item(key="k"))
        other = await sink.export(item(key="k2"))

        assert first.external_id == again.external_id != other.external_id
        assert (first.error, again.error) == (None, None)
        assert len(server.feedback) == 6


async def test_what_an_episode_scored_again_has_replaces_what_it_had(client: httpx.AsyncClient) -> None:
    async with running(LangSmithSink()) as server:
        sink = make_sink(_spec(server), None, client)
        await sink.export(item(key="k"))
        outcome = await sink.export(item(key="k", scores=SCORED_AGAIN))

        assert outcome.error is None
        found = {one["key"]: (one["score"], one["comment"]) for one in server.feedback.values()}
        assert (list(found), len(server.feedback)) == (NAMES, 3)
        assert found["judge:tone"] == (0.5, "on reflection, fine")


async def test_feedback_that_is_refused_does_not_keep_the_others_out(client: httpx.AsyncClient) -> None:
    async with running(LangSmithSink(refuses={"judge:tone"})) as server:
        outcome = await make_sink(_spec(server), None, client).export(item())

        assert (outcome.error or "").startswith("1 of 3 scores were refused: judge:tone: HTTP 422")
        assert len(server.feedback) == 2


async def test_an_older_server_tells_the_link_and_needs_no_project_id(client: httpx.AsyncClient) -> None:
    async with running(LangSmithSink(sessions=False)) as server:
        outcome = await make_sink(_spec(server), None, client).export(item())

        assert outcome.error is None
        assert outcome.url == f"{server.url}/o/old/projects/p/x/runs/{outcome.external_id}"
        assert not [one for one in server.feedback.values() if "session_id" in one]


async def test_without_a_project_nothing_is_asked(client: httpx.AsyncClient) -> None:
    async with running(LangSmithSink()) as server:
        with pytest.raises(ExportError, match="names no project"):
            await make_sink(_spec(server, ""), None, client).export(item())
        assert not server.seen


async def test_an_answer_that_repeats_the_key_is_told_without_it(client: httpx.AsyncClient) -> None:
    async with running(LangSmithSink()) as server:
        server.then("/runs/multipart", says(401, "bad key ls-key-123456"))
        with pytest.raises(ExportError, match=r"HTTP 401: bad key \[key\]$"):
            await make_sink(_spec(server), "ls-key-123456", client).export(item())
