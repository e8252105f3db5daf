"""Contract tests: against a double that answers as Phoenix does."""

from __future__ import annotations

from typing import Any

import pytest

from engine.scoring.sources import CollectError
from tests.fakes.platforms.double import running
from tests.fakes.platforms.phoenix_reads import PhoenixDouble
from tests.scoring.sources.conftest import RUN, TRACE, MakeSource

SPANS = "/v1/projects/agents/spans"


def span(
    id: str, start: int, end: int, *, trace: str = TRACE, kind: str = "UNKNOWN", **fields: Any
) -> dict[str, Any]:
    return {
        "name": id,
        "context": {"trace_id": trace, "span_id": id},
        "span_kind": kind,
        "parent_id": None if id == "root" else "root",
        "start_time": f"2026-05-18T14:30:{start:02}+00:00",
        "end_time": f"2026-05-18T14:30:{end:02}+00:00",
        "status_code": "OK",
        "status_message": "",
        "attributes": {},
        **fields,
    }


FLAT = {"llm.model_name": "m-1", "llm.token_count.prompt": 30, "llm.token_count.completion": 5}
NESTED = {"llm": {"model_name": "m-1", "token_count": {"prompt": 30, "completion": 5}}}


def agent_run(tag: dict[str, Any] | None = None, call: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return [
        span("root", 0, 9, kind="AGENT", attributes={"output.value": "42", **(tag or {})}),
        span("call", 1, 2, kind="LLM", attributes=call or FLAT),
        span("grep", 3, 4, kind="TOOL", status_code="ERROR", status_message="exit 2"),
    ]


def double(*spans: dict[str, Any], **options: Any) -> PhoenixDouble:
    return PhoenixDouble(projects={"agents": list(spans)}, **options)


@pytest.mark.case(40)
class TestMapping:
    @pytest.mark.case(45)
    @pytest.mark.parametrize("attributes", [FLAT, NESTED], ids=["flat", "nested"])
    async def test_attributes_are_read_flat_and_nested(
        self, make: MakeSource, attributes: dict[str, Any]
    ) -> None:
        async with running(double(*agent_run(call=attributes))) as phoenix:
            call, tool, result, message = await make("phoenix", phoenix, project="agents").fetch(TRACE)
        assert (call["kind"], call["model"]) == ("llm_call", "m-1")
        assert call["cost"] == {"prompt_tokens": 30, "completion_tokens": 5}, "an unknown price is no 0"
        assert (tool["name"], result["ok"], result["output"]) == ("grep", False, "exit 2")
        assert (message["text"], message["t"]) == ("42", 9000)
        [asked] = phoenix.asked
        assert (asked.path, asked.query) == (SPANS, {"trace_id": TRACE, "limit": "1000"})

    async def test_a_declared_model_without_attributes_is_a_call(self, make: MakeSource) -> None:
        async with running(double(span("x", 0, 1, kind="LLM"))) as phoenix:
            [call] = await make("phoenix", phoenix, project="agents").fetch(TRACE)
        assert call["kind"] == "llm_call"

    async def test_all_pages_are_read(self, make: MakeSource) -> None:
        spans = [span(str(n), n, n + 1, kind="LLM") for n in range(7)]
        async with running(double(*spans, page=3)) as phoenix:
            assert len(await make("phoenix", phoenix, project="agents").fetch(TRACE)) == 7
        assert [asked.query.get("cursor") for asked in phoenix.asked] == [None, "3", "6"]

    async def test_no_trace_and_no_project_yet_are_empty(self, make: MakeSource) -> None:
        async with running(double()) as phoenix:
            assert await make("phoenix", phoenix, project="agents").fetch(TRACE) == []
            assert await make("phoenix", phoenix, project="to come").fetch(TRACE) == []
        assert phoenix.paths == [SPANS, "/v1/projects/to come/spans"]

    async def test_a_missing_project_is_an_error_that_names_it(self, make: MakeSource) -> None:
        with pytest.raises(CollectError, match=r"trace\.project is missing"):
            make("phoenix", "http://127.0.0.1:9")


class TestSearch:
    @pytest.mark.parametrize("knows", [True, False], ids=["today", "before the search by attribute"])
    @pytest.mark.parametrize(
        "tag",
        [{"evaltower.run_id": RUN}, {"evaltower": {"run_id": RUN}}, {"session.id": RUN}],
        ids=["flat", "nested", "session"],
    )
    async def test_a_trace_is_found_whole_by_what_its_root_has(
        self, make: MakeSource, tag: dict[str, Any], knows: bool
    ) -> None:
        other = span(
            "other", 0, 1, trace="f" * 32, kind="LLM", attributes={"evaltower.run_id": "other/ep0000"}
        )
        async with running(double(*agent_run(tag), other, knows_attribute=knows)) as phoenix:
            source = make("phoenix", phoenix, correlate="tag", project="agents")
            found = await source.fetch(RUN)
            assert await source.fetch("20260518_143052/ep0099") == []
        assert [event["kind"] for event in found] == ["llm_call", "tool_call", "tool_result", "message"]

    async def test_a_run_that_reads_as_a_number_is_compared_as_text(self, make: MakeSource) -> None:
        async with running(double(*agent_run({"evaltower.run_id": "123"}))) as phoenix:
            assert await make("phoenix", phoenix, correlate="tag", project="agents").fetch("123")
        assert phoenix.asked[0].query["attribute"] == 'evaltower.run_id:"123"'
