from __future__ import annotations

import httpx
import pytest

from engine.scoring.sinks import ExportError, make_sink, phoenix
from engine.scoring.spec import SinkSpec
from tests.fakes.platforms.phoenix_sink import PhoenixSink
from tests.fakes.platforms.sink_server import running
from tests.scoring.sinks.items import NAMES, item

ANNOTATIONS = "/v1/trace_annotations"


def _spec(server: PhoenixSink, project: str = "my evals") -> SinkSpec:
    return SinkSpec(name="bird", kind="phoenix", endpoint=server.url, project=project)


@pytest.mark.case(46)
async def test_create_sends_spans_and_an_annotation_a_score(client: httpx.AsyncClient) -> None:
    async with running(PhoenixSink(late=2)) as server:
        outcome = await make_sink(_spec(server), "admin-secret", client).export(item())

        assert (outcome.error, outcome.warning) == (None, None)
        assert outcome.url == f"{server.url}/redirects/traces/{outcome.external_id}"
        assert {seen.headers["Authorization"] for seen in server.seen} == {"Bearer admin-secret"}
        (spans,) = server.sent("/v1/projects/my evals/spans")
        kinds = ["CHAIN", "CHAIN", "LLM", "TOOL", "CHAIN"]
        assert [span["span_kind"] for span in spans.body["data"]] == kinds
        root, *children = spans.body["data"]
        assert root["parent_id"] is None
        assert {child["parent_id"] for child in children} == {root["context"]["span_id"]}
        assert children[1]["attributes"]["llm.token_count.prompt"] == 10
        assert children[2]["status_code"] == "ERROR"
        assert len(server.sent(ANNOTATIONS)) == 1
        found = list(server.annotations.values())
        assert [one["name"] for one in found] == NAMES
        assert [one["annotator_kind"] for one in found] == ["CODE", "LLM", "LLM"]
        assert found[1]["result"] == {"score": 0.123456, "label": "fail", "explanation": "too curt"}
        assert found[1]["metadata"]["evaltower.source"] == "gpt-judge"


@pytest.mark.case(46)
async def test_attach_sends_annotations_alone_and_a_trace_that_is_not_there_is_an_error(
    client: httpx.AsyncClient,
) -> None:
    async with running(PhoenixSink()) as server:
        sink = make_sink(_spec(server), None, client)
        there = (await sink.export(item(scores=[]))).external_id
        outcome = await sink.export(item(existing_id=there))
        assert (outcome.external_id, outcome.error) == (there, None)
        assert len(server.sent("/spans")) == 1

        gone = await sink.export(item(existing_id="beef"))
        assert "do not exist" in (gone.error or "")
        assert not server.queued


@pytest.mark.case(32)
async def test_scores_of_a_trace_that_is_not_inserted_in_time_are_queued_which_is_a_warning(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phoenix, "INSERTED_SEC", 0.2)
    async with running(PhoenixSink(late=None)) as server:
        outcome = await make_sink(_spec(server), None, client).export(item())

        assert outcome.error is None
        assert (outcome.warning or "").startswith("its scores are queued")
        assert [one["name"] for one in server.queued] == NAMES


async def test_an_annotation_that_is_refused_does_not_keep_the_others_out(client: httpx.AsyncClient) -> None:
    async with running(PhoenixSink(refuses={"judge:tone"})) as server:
        outcome = await make_sink(_spec(server), None, client).export(item())

        assert (outcome.error or "").startswith("1 of 3 scores were refused: judge:tone: HTTP 422")
        assert {name for _, name, _ in server.annotations} == {"tests_pass", "judge:tone:warmth"}


@pytest.mark.case(50)
async def test_what_is_exported_again_is_there_once(client: httpx.AsyncClient) -> None:
    async with running(PhoenixSink()) as server:
        sink = make_sink(_spec(server), None, client)
        first, again = await sink.export(item(key="k")), await sink.export(item(key="k"))

        assert first.external_id == again.external_id
        assert (again.error, again.warning) == (None, None)
        assert (len(server.spans), len(server.annotations)) == (5, 3)
        assert (await sink.export(item(key="k2"))).external_id != first.external_id


async def test_without_a_project_nothing_is_asked(client: httpx.AsyncClient) -> None:
    async with running(PhoenixSink()) as server:
        with pytest.raises(ExportError, match="names no project"):
            await make_sink(_spec(server, ""), None, client).export(item())
        assert not server.seen
