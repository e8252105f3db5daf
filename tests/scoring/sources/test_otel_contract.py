"""Contract tests: against a double in Jaeger's shape, not a Jaeger."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from engine.scoring.sources import CollectError
from tests.fakes.platforms.double import running
from tests.fakes.platforms.jaeger import JaegerDouble
from tests.scoring.sources.conftest import RUN, TRACE, MakeSource
from tests.scoring.sources.otlp_spans import AGENT_RUN, resource_spans, span

SEARCHED = {"correlate": "tag", "service": "agent"}
APIS = [{}, {"v3": False}, {"v3": False, "serves_page": True}, {"legacy": False}, {"heeds_attributes": False}]
NAMED = ["both", "before v3", "before v3, with its page", "after legacy", "v3 before 2.19"]
KINDS = ["llm_call", "tool_call", "tool_result", "message"]


def filled(**options: Any) -> JaegerDouble:
    """With one episode's trace, and one of another."""
    double = JaegerDouble(**options)
    double.put(resource_spans(AGENT_RUN, service_name="agent", evaltower_run__id=RUN))
    other = span("chat", trace="f" * 32, gen__ai_request_model="other", evaltower_run__id="another/ep0000")
    double.put(resource_spans([other], service_name="agent"))
    return double


@pytest.mark.case(40)
class TestMapping:
    @pytest.mark.parametrize("options", APIS, ids=NAMED)
    @pytest.mark.parametrize("found_by", [SEARCHED, {}], ids=["tag", "id"])
    async def test_both_apis_tell_the_same(
        self, make: MakeSource, options: dict[str, bool], found_by: dict[str, Any]
    ) -> None:
        async with running(filled(**options)) as jaeger:
            found = await make("otel", jaeger, **found_by).fetch(RUN if found_by else TRACE)
        call, tool, result, message = found
        assert [event["kind"] for event in found] == KINDS
        assert call["model"] == "m-1"
        assert call["cost"] == {"prompt_tokens": 30, "completion_tokens": 5, "usd": 0.25}
        assert (call["t"], call["latency_ms"], call["parent_id"]) == (100, 300, "a0")
        assert (tool["name"], tool["args"]) == ("grep", {"pattern": "x"})
        assert (result["ok"], result["output"], result["t"]) == (False, "no such file", 600)
        assert (message["text"], message["t"]) == ("42", 1000)

    @pytest.mark.parametrize("legacy", [False, True], ids=["v3", "legacy"])
    async def test_status_of_a_span_is_read(self, make: MakeSource, legacy: bool) -> None:
        double = JaegerDouble(v3=not legacy)
        failed = span(
            "chat", gen__ai_request_model="m", status={"code": "STATUS_CODE_ERROR", "message": "429"}
        )
        double.put(resource_spans([failed], service_name="agent"))
        async with running(double) as jaeger:
            [call] = await make("otel", jaeger).fetch(TRACE)
        assert call["error"] == "429"

    async def test_names_of_the_harness_are_mapped(self, make: MakeSource) -> None:
        double = JaegerDouble()
        double.put(resource_spans([span("x", acme_model="mine")]))
        async with running(double) as jaeger:
            [call] = await make("otel", jaeger, mapping={"model": "acme.model"}).fetch(TRACE)
        assert (call["kind"], call["model"]) == ("llm_call", "mine")


@pytest.mark.case(42)
class TestSearch:
    async def test_v3_is_asked_for_the_tag_within_a_window(self, make: MakeSource) -> None:
        async with running(filled()) as jaeger:
            await make("otel", jaeger, **SEARCHED).fetch(RUN)
        [asked] = jaeger.asked
        assert asked.path == "/api/v3/traces"
        assert asked.query["query.serviceName"] == "agent"
        assert json.loads(asked.query["query.attributes"]) == {"evaltower.run_id": RUN}
        begins, ends = (
            datetime.fromisoformat(asked.query[f"query.startTime{end}"]) for end in ("Min", "Max")
        )
        assert (ends - begins).days == 31

    async def test_legacy_is_asked_by_service_and_tags(self, make: MakeSource) -> None:
        async with running(filled(v3=False)) as jaeger:
            await make("otel", jaeger, **SEARCHED).fetch(RUN)
        assert jaeger.paths == ["/api/v3/traces", "/api/traces"]
        query = jaeger.asked[1].query
        assert query["service"] == "agent"
        assert json.loads(query["tags"]) == {"evaltower.run_id": RUN}

    async def test_a_missing_service_is_an_error_that_names_it(self, make: MakeSource) -> None:
        with pytest.raises(CollectError, match=r"trace\.service is missing"):
            make("otel", "http://127.0.0.1:9", correlate="tag")

    @pytest.mark.parametrize("options", APIS, ids=NAMED)
    @pytest.mark.parametrize("found_by", [SEARCHED, {}], ids=["tag", "id"])
    async def test_no_trace_yet_is_empty(
        self, make: MakeSource, options: dict[str, bool], found_by: dict[str, Any]
    ) -> None:
        async with running(filled(**options)) as jaeger:
            assert await make("otel", jaeger, **found_by).fetch("20260518_143052/ep0099") == []

    async def test_all_traces_of_an_episode_are_one(self, make: MakeSource) -> None:
        double = filled()
        more = span("chat", 2000, 2500, trace="e" * 32, gen__ai_request_model="m-2")
        double.put(resource_spans([more], service_name="agent", evaltower_run__id=RUN))
        async with running(double) as jaeger:
            found = await make("otel", jaeger, **SEARCHED).fetch(RUN)
        assert [event["model"] for event in found if event["kind"] == "llm_call"] == ["m-1", "m-2"]

    async def test_more_traces_than_are_asked_for_are_an_error(self, make: MakeSource) -> None:
        double = JaegerDouble()
        many = [span("chat", trace=f"{n:032x}", gen__ai_request_model="m") for n in range(100)]
        double.put(resource_spans(many, service_name="agent", evaltower_run__id=RUN))
        async with running(double) as jaeger:
            with pytest.raises(CollectError, match="has 100 traces or more"):
                await make("otel", jaeger, **SEARCHED).fetch(RUN)

    async def test_a_v3_that_heeds_no_attributes_and_no_legacy_gives_what_is_ours(
        self, make: MakeSource
    ) -> None:
        async with running(filled(heeds_attributes=False, legacy=False)) as jaeger:
            found = await make("otel", jaeger, **SEARCHED).fetch(RUN)
        assert [event["kind"] for event in found] == KINDS

    async def test_neither_api_is_an_error(self, make: MakeSource) -> None:
        async with running(JaegerDouble(v3=False, legacy=False)) as other:
            with pytest.raises(CollectError, match="HTTP 404: 404 page not found"):
                await make("otel", other, **SEARCHED).fetch(RUN)

    async def test_an_episode_s_own_id_is_the_trace_of_its_traceparent(self, make: MakeSource) -> None:
        async with running(JaegerDouble()) as jaeger:
            await make("otel", jaeger).fetch(RUN)
        trace = jaeger.paths[0].rpartition("/")[2]
        assert len(bytes.fromhex(trace)) == 16
        assert jaeger.paths == [f"/api/v3/traces/{trace}"]


class TestServersInJaegersPlace:
    async def test_otlp_from_the_first_api_is_read(self, make: MakeSource) -> None:
        spans = [span("chat", gen__ai_request_model="m")]
        for content in ({"spans": spans}, {"resourceSpans": resource_spans(spans)}):
            double = JaegerDouble(v3=False, instead={f"/api/traces/{TRACE}": (200, content)})
            async with running(double) as server:
                [call] = await make("otel", server).fetch(TRACE)
            assert call["model"] == "m"

    @pytest.mark.parametrize(
        "spans",
        [[{"spanId": "1"}], [{"spanId": "1", "startTimeUnixNano": "noon"}], "many", [None], {"a": 1}],
    )
    async def test_spans_of_another_shape_are_an_error(self, make: MakeSource, spans: Any) -> None:
        content = {"result": {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}}
        async with running(JaegerDouble(instead={f"/api/v3/traces/{TRACE}": (200, content)})) as server:
            with pytest.raises(CollectError, match="the spans are not as expected"):
                await make("otel", server).fetch(TRACE)
