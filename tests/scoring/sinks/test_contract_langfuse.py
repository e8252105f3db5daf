from __future__ import annotations

from base64 import b64decode

import httpx
import pytest

from engine.scoring.sinks import ExportError, make_sink
from engine.scoring.spec import SinkSpec
from tests.fakes.platforms.langfuse_sink import LangfuseSink
from tests.fakes.platforms.otlp_sink import flat, spans_of
from tests.fakes.platforms.sink_server import running, says
from tests.scoring.sinks.items import NAMES, SCORED_AGAIN, item

SECRET = "pk-lf-1:sk-lf-2"
TRACES, SCORES, INGESTION = "/api/public/otel/v1/traces", "/api/public/scores", "/api/public/ingestion"


def _spec(server: LangfuseSink) -> SinkSpec:
    return SinkSpec(name="fuse", kind="langfuse", endpoint=server.url)


@pytest.mark.case(46)
async def test_create_sends_spans_as_of_version_4_and_scores_as_a_list(client: httpx.AsyncClient) -> None:
    async with running(LangfuseSink()) as server:
        outcome = await make_sink(_spec(server), SECRET, client).export(item())

        assert (outcome.error, outcome.warning) == (None, None)
        assert outcome.url == f"{server.url}/project/proj-1/traces/{outcome.external_id}"
        (sent,) = server.sent(TRACES)
        assert sent.headers["x-langfuse-ingestion-version"] == "4"
        assert b64decode(sent.headers["Authorization"].removeprefix("Basic ")).decode() == SECRET
        told = [flat(span["attributes"]) for span in spans_of(sent.body)]
        types = ["agent", "span", "generation", "tool", "span"]
        assert [one["langfuse.observation.type"] for one in told] == types
        assert told[2]["langfuse.observation.usage_details"] == '{"input":10,"output":5}'
        assert told[2]["langfuse.observation.cost_details"] == '{"total":0.25}'
        assert told[3]["langfuse.observation.level"] == "ERROR"
        assert {one["langfuse.trace.name"] for one in told} == {"fixer"}
        assert {one["session.id"] for one in told} == {"20260801_100000"}
        (scores,) = server.sent(SCORES)
        assert [score["name"] for score in scores.body] == NAMES
        assert {score["traceId"] for score in scores.body} == {outcome.external_id}
        assert scores.body[1]["comment"] == "too curt"
        assert scores.body[1]["metadata"]["evaltower.source"] == "gpt-judge"
        assert not server.sent(INGESTION)


@pytest.mark.case(46)
async def test_attach_sends_scores_alone(client: httpx.AsyncClient) -> None:
    async with running(LangfuseSink()) as server:
        outcome = await make_sink(_spec(server), SECRET, client).export(item(existing_id="abc"))

        assert outcome.external_id == "abc"
        assert {score["traceId"] for score in server.scores.values()} == {"abc"}
        assert not server.sent(TRACES)


@pytest.mark.case(48)
async def test_of_a_list_that_is_taken_in_part_it_is_said_how_many_and_why(client: httpx.AsyncClient) -> None:
    async with running(LangfuseSink(refuses={"judge:tone"})) as server:
        outcome = await make_sink(_spec(server), SECRET, client).export(item())

        assert outcome.error == "1 of 3 scores were refused: score judge:tone is invalid"
        assert len(server.sent(SCORES)) == 1  # what was taken must not be sent again
        assert {score["name"] for score in server.scores.values()} == {"tests_pass", "judge:tone:warmth"}


@pytest.mark.case(48)
async def test_an_older_server_gets_events_and_its_207_is_told_by_score(client: httpx.AsyncClient) -> None:
    async with running(LangfuseSink(old=True, refuses={"judge:tone"})) as server:
        outcome = await make_sink(_spec(server), SECRET, client).export(item())

        assert outcome.error == "1 of 3 scores were refused: judge:tone: invalid body"
        trace, scores = server.sent(INGESTION)
        kinds = [event["type"] for event in trace.body["batch"]]
        assert kinds == ["trace-create", "span-create", "generation-create", "span-create", "span-create"]
        assert trace.body["batch"][0]["body"]["id"] == outcome.external_id
        generation = trace.body["batch"][2]["body"]
        assert generation["usageDetails"] == {"input": 10, "output": 5}
        assert generation["costDetails"] == {"total": 0.25}
        assert {event["type"] for event in scores.body["batch"]} == {"score-create"}


@pytest.mark.case(48)
async def test_an_older_server_that_refuses_the_trace_has_no_export(client: httpx.AsyncClient) -> None:
    async with running(LangfuseSink(old=True, refuses={"fixer"})) as server:
        with pytest.raises(ExportError, match="the trace was refused: invalid body"):
            await make_sink(_spec(server), SECRET, client).export(item())
        assert not server.scores


@pytest.mark.case(48)
async def test_an_observation_that_is_refused_is_a_warning(client: httpx.AsyncClient) -> None:
    async with running(LangfuseSink(old=True, refuses={"bash"})) as server:
        outcome = await make_sink(_spec(server), SECRET, client).export(item())

        assert outcome.warning == "1 of 4 observations were refused: invalid body"
        assert outcome.error is None


@pytest.mark.case(48)
@pytest.mark.parametrize("old", [False, True])
async def test_no_request_is_larger_than_three_megabytes(client: httpx.AsyncClient, old: bool) -> None:
    large = [{"kind": "message", "role": "assistant", "text": "x" * 150_000, "t": n} for n in range(50)]
    async with running(LangfuseSink(old=old)) as server:
        outcome = await make_sink(_spec(server), SECRET, client).export(item(events=large))

        sent = server.sent(INGESTION if old else TRACES)
        assert len(sent) > 2
        assert max(seen.size for seen in sent) <= 3_010_000
        assert (outcome.error, outcome.warning) == (None, None)


@pytest.mark.case(50)
async def test_the_same_key_gives_the_same_trace_and_scores(client: httpx.AsyncClient) -> None:
    async with running(LangfuseSink()) as server:
        sink = make_sink(_spec(server), SECRET, client)
        first, again = await sink.export(item(key="k")), await sink.export(item(key="k"))
        assert first.external_id == again.external_id
        assert len(server.scores) == 3

        other = await sink.export(item(key="k2"))
        assert other.external_id != first.external_id
        assert len(server.scores) == 6


async def test_what_an_episode_scored_again_has_replaces_what_it_had(client: httpx.AsyncClient) -> None:
    async with running(LangfuseSink()) as server:
        sink = make_sink(_spec(server), SECRET, client)
        await sink.export(item(key="k"))
        await sink.export(item(key="k", scores=SCORED_AGAIN))

        found = {score["name"]: score["value"] for score in server.scores.values()}
        assert (list(found), len(server.scores)) == (NAMES, 3)
        assert found["judge:tone"] == 0.5


async def test_where_no_project_is_told_the_link_is_to_the_page_that_finds_it(
    client: httpx.AsyncClient,
) -> None:
    async with running(LangfuseSink()) as server:
        server.then("/projects", says(403, "no"))
        outcome = await make_sink(_spec(server), SECRET, client).export(item())

        assert (outcome.url, outcome.error) == (f"{server.url}/trace/{outcome.external_id}", None)
