"""Contract tests: against a double that answers as Langfuse does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.scoring.sources import CollectError
from tests.fakes.platforms.double import running
from tests.fakes.platforms.langfuse_reads import LangfuseDouble
from tests.scoring.sources.conftest import RUN, TRACE, MakeSource

V2, V1 = "/api/public/v2/observations", f"/api/public/traces/{TRACE}"


def seen(id: str, start: str, end: str | None, parent: str | None = "root", **fields: Any) -> dict[str, Any]:
    day = "2026-05-18T14:30:"
    return {
        "id": id,
        "traceId": TRACE,
        "parentObservationId": parent,
        "type": "SPAN",
        "startTime": f"{day}{start}Z",
        "endTime": end and f"{day}{end}Z",
        **fields,
    }


def agent_run(**of_root: Any) -> list[dict[str, Any]]:
    return [
        seen("root", "00.000", "03.000", None, type="AGENT", name="run", output="42", **of_root),
        seen(
            "call",
            "00.500",
            "01.000",
            type="GENERATION",
            model="m-1",
            usageDetails={"input": 30, "output": 5, "total": 35},
            costDetails={"total": 0.25},
        ),
        seen(
            "tool",
            "01.000",
            "02.000",
            type="TOOL",
            name="grep",
            input='{"p": 1}',
            level="ERROR",
            statusMessage="exit 2",
        ),
        seen("step", "02.000", None, name="think", output="hm"),
    ]


@pytest.mark.case(40)
class TestMapping:
    @pytest.mark.parametrize("v2", [True, False], ids=["v2", "before"])
    async def test_both_apis_tell_the_same(self, make: MakeSource, v2: bool) -> None:
        async with running(LangfuseDouble(v2=v2, observations=agent_run())) as langfuse:
            call, tool, result, step, message = await make("langfuse", langfuse).fetch(TRACE)
        assert langfuse.paths == ([V2] if v2 else [V2, V1])
        assert (call["kind"], call["model"], call["t"], call["latency_ms"]) == ("llm_call", "m-1", 500, 500)
        assert call["cost"] == {"prompt_tokens": 30, "completion_tokens": 5, "usd": 0.25}
        assert (tool["name"], tool["args"], result["ok"], result["output"]) == (
            "grep",
            {"p": 1},
            False,
            "exit 2",
        )
        assert (step["kind"], step["name"]) == ("span", "think")
        assert (message["kind"], message["text"], message["t"]) == ("message", "42", 3000)

    async def test_the_answer_of_a_whole_below_the_episode_is_read(self, make: MakeSource) -> None:
        below = seen("root", "00", "03", "the traceparent's", output="42")
        async with running(LangfuseDouble(observations=[below])) as langfuse:
            [message] = await make("langfuse", langfuse).fetch(TRACE)
        assert (message["kind"], message["text"]) == ("message", "42")

    async def test_the_old_names_of_usage_and_cost_are_read(self, make: MakeSource) -> None:
        old = seen("c", "00", "01", model="m", usage={"input": 7, "output": 3}, calculatedTotalCost="0.5")
        async with running(LangfuseDouble(v2=False, observations=[old])) as langfuse:
            [call] = await make("langfuse", langfuse).fetch(TRACE)
        assert call["cost"] == {"prompt_tokens": 7, "completion_tokens": 3, "usd": 0.5}

    async def test_attributes_of_the_harness_are_mapped(self, make: MakeSource) -> None:
        mine = seen("c", "00", "01", metadata={"attributes": {"acme.model": "mine"}})
        async with running(LangfuseDouble(observations=[mine])) as langfuse:
            [call] = await make("langfuse", langfuse, mapping={"model": "acme.model"}).fetch(TRACE)
        assert (call["kind"], call["model"]) == ("llm_call", "mine")

    async def test_all_pages_are_read(self, make: MakeSource) -> None:
        many = [seen(str(n), f"{n:02}", None, type="GENERATION", model="m") for n in range(7)]
        async with running(LangfuseDouble(observations=many, page=3)) as langfuse:
            found = await make("langfuse", langfuse).fetch(TRACE)
        assert len(found) == 7
        assert [asked.query.get("cursor") for asked in langfuse.asked] == [None, "3", "6"]
        assert langfuse.asked[0].query["fields"] == "basic,usage,model,io,metadata,trace_context"

    @pytest.mark.parametrize("v2", [True, False], ids=["v2", "before"])
    async def test_no_trace_yet_is_empty(self, make: MakeSource, v2: bool) -> None:
        async with running(LangfuseDouble(v2=v2)) as langfuse:
            assert await make("langfuse", langfuse).fetch(TRACE) == []


class TestSearch:
    @pytest.mark.parametrize(
        "of_root",
        [
            {"metadata": {"evaltower.run_id": RUN}},
            {"metadata": {"resourceAttributes": {"evaltower.run_id": RUN}}},
            {"sessionId": RUN},
        ],
        ids=["metadata", "the process's attributes", "session"],
    )
    async def test_a_trace_is_found_whole_by_what_its_root_has(
        self, make: MakeSource, of_root: dict[str, Any]
    ) -> None:
        async with running(LangfuseDouble(observations=agent_run(**of_root))) as langfuse:
            found = await make("langfuse", langfuse, correlate="tag").fetch(RUN)
        assert [event["kind"] for event in found] == [
            "llm_call",
            "tool_call",
            "tool_result",
            "span",
            "message",
        ]

    async def test_the_filter_names_key_and_value(self, make: MakeSource) -> None:
        async with running(LangfuseDouble()) as langfuse:
            assert await make("langfuse", langfuse, correlate="tag").fetch(RUN) == []
        first = {"type": "stringObject", "column": "metadata", "operator": "=", "value": RUN}
        assert json.loads(langfuse.asked[0].query["filter"]) == [{**first, "key": "evaltower.run_id"}]

    async def test_a_langfuse_that_cannot_search_is_an_error(self, make: MakeSource) -> None:
        async with running(LangfuseDouble(v2=False)) as langfuse:
            with pytest.raises(CollectError, match=r"trace\.correlate: this Langfuse"):
                await make("langfuse", langfuse, correlate="tag").fetch(RUN)
