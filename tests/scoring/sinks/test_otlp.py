from __future__ import annotations

import httpx
import pytest

from engine.scoring.sinks import ExportError, make_sink
from engine.scoring.spec import SinkSpec
from tests.fakes.platforms.otlp_sink import OtlpSink, flat
from tests.fakes.platforms.sink_server import running, says
from tests.scoring.sinks.items import NAMES, item


def _spec(server: OtlpSink, path: str = "") -> SinkSpec:
    return SinkSpec(name="collector", kind="otlp", endpoint=server.url + path)


@pytest.mark.case(46)
@pytest.mark.parametrize("path", ["", "/", "/v1/traces"])
async def test_an_episode_is_a_trace_whose_root_carries_its_scores(
    client: httpx.AsyncClient, path: str
) -> None:
    async with running(OtlpSink()) as server:
        outcome = await make_sink(_spec(server, path), "collector-token", client).export(item())

        assert (outcome.error, outcome.warning) == (None, None)
        assert server.seen[0].headers["Authorization"] == "Bearer collector-token"
        root, *children = server.spans()
        assert root["traceId"] == outcome.external_id
        assert [child["parentSpanId"] for child in children] == [root["spanId"]] * 4
        told = [flat(event["attributes"]) for event in root["events"]]
        assert [one["gen_ai.evaluation.name"] for one in told] == NAMES
        assert [one["gen_ai.evaluation.score.value"] for one in told] == [1.0, 0.123456, 0.5]
        assert told[1]["gen_ai.evaluation.explanation"] == "too curt"
        assert told[1]["evaltower.source"] == "gpt-judge"
        assert children[2]["status"] == {"code": 2, "message": "no such file"}


async def test_what_was_exported_is_not_taken_for_what_a_harness_sent(client: httpx.AsyncClient) -> None:
    async with running(OtlpSink()) as server:
        await make_sink(_spec(server), None, client).export(item())

        (sent,) = server.seen
        resource = flat(sent.body["resourceSpans"][0]["resource"]["attributes"])
        assert resource["evaltower.episode"] == "20260801_100000/ep0003"
        assert "evaltower.run_id" not in resource
        assert all("evaltower.run_id" not in flat(span["attributes"]) for span in server.spans())


@pytest.mark.case(32)
async def test_spans_that_a_collector_drops_are_a_warning_and_all_of_them_an_error(
    client: httpx.AsyncClient,
) -> None:
    async with running(OtlpSink(partial={"rejectedSpans": "2", "errorMessage": "too old"})) as server:
        sink = make_sink(_spec(server), None, client)
        outcome = await sink.export(item())
        assert outcome.warning == "the collector rejected 2 of 5 spans: too old"
        assert outcome.error is None

        server.partial = {"rejectedSpans": 5}
        with pytest.raises(ExportError, match="rejected all of 5 spans"):
            await sink.export(item())


async def test_a_collector_that_takes_no_json_is_told_apart(client: httpx.AsyncClient) -> None:
    async with running(OtlpSink()) as server:
        server.then("/v1/traces", says(415))
        with pytest.raises(ExportError, match=r"HTTP 415: .*it has to take OTLP as JSON"):
            await make_sink(_spec(server), None, client).export(item())
