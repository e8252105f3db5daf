"""Contract tests: against a double that answers as LangSmith does."""

from __future__ import annotations

from typing import Any

import pytest

from engine.scoring.sources import CollectError
from tests.fakes.platforms.double import running
from tests.fakes.platforms.langsmith_reads import LangsmithDouble
from tests.scoring.sources.conftest import RUN, MakeSource

ROOT = "0af76519-16cd-43dd-8448-eb211c80319c"
SESSION = "11111111-2222-3333-4444-555555555555"
V1, V2, SESSIONS = "/runs/query", "/api/v2/runs/query", "/sessions"


def run(
    id: str, kind: str, start: int, end: int | None, parent: str | None = ROOT, **fields: Any
) -> dict[str, Any]:
    return {
        "id": id,
        "name": id,
        "run_type": kind,
        "start_time": f"2026-05-18T14:30:{start:02}",
        "end_time": end and f"2026-05-18T14:30:{end:02}.000000",
        "trace_id": ROOT,
        "parent_run_id": parent,
        "session_id": SESSION,
        "status": "success",
        "extra": {"metadata": {}},
        **fields,
    }


def agent_run(**metadata: Any) -> list[dict[str, Any]]:
    whole = {"prompt_tokens": 30, "completion_tokens": 5, "total_cost": "0.25"}
    root = run(ROOT, "chain", 0, 9, None, outputs={"output": "42"}, extra={"metadata": metadata}, **whole)
    named = {"metadata": {"ls_model_name": "m-1"}}
    return [
        root,
        run("call", "llm", 1, 2, extra=named, **whole),
        run("grep", "tool", 3, 4, inputs={"p": 1}, error="exit 2", status="error"),
    ]


def double(**options: Any) -> LangsmithDouble:
    return LangsmithDouble(**{"runs": agent_run(), "sessions": {"agents": SESSION}, **options})


@pytest.mark.case(40)
class TestMapping:
    @pytest.mark.parametrize("options", [{"v1": False}, {"v2": False}], ids=["v2", "v1"])
    async def test_both_apis_tell_the_same(self, make: MakeSource, options: dict[str, bool]) -> None:
        async with running(double(**options)) as langsmith:
            call, tool, result, message = await make("langsmith", langsmith, project="agents").fetch(ROOT)
        assert (call["kind"], call["model"], call["latency_ms"]) == ("llm_call", "m-1", 1000)
        assert (call["parent_id"], tool["name"], tool["args"]) == (ROOT, "grep", {"p": 1})
        assert (result["ok"], result["output"]) == (False, "exit 2")
        assert (message["text"], message["t"]) == ("42", 9000)

    @pytest.mark.case(44)
    @pytest.mark.parametrize("options", [{"v1": False}, {"v2": False}], ids=["v2", "v1"])
    async def test_a_cost_in_decimal_text_is_a_number_and_sums_are_not_calls(
        self, make: MakeSource, options: dict[str, bool]
    ) -> None:
        async with running(double(**options)) as langsmith:
            found = await make("langsmith", langsmith, project="agents").fetch(ROOT)
        costs = [event["cost"] for event in found if event["kind"] == "llm_call"]
        assert costs == [{"prompt_tokens": 30, "completion_tokens": 5, "usd": 0.25}]

    async def test_a_model_without_a_name_is_called_as_its_run(self, make: MakeSource) -> None:
        async with running(double(runs=[run("ChatModel", "llm", 0, 1)])) as langsmith:
            [call] = await make("langsmith", langsmith).fetch(ROOT)
        assert call["model"] == "ChatModel"
        assert "cost" not in call

    @pytest.mark.parametrize("v2", [True, False], ids=["v2", "v1"])
    async def test_all_pages_are_read(self, make: MakeSource, v2: bool) -> None:
        async with running(
            double(v2=v2, runs=[run(str(n), "llm", n, n + 1) for n in range(7)], page=3)
        ) as langsmith:
            found = await make("langsmith", langsmith, project=SESSION).fetch(ROOT)
        assert len(found) == 7
        cursors = [asked.body.get("cursor") for asked in langsmith.asked if asked.path == (V2 if v2 else V1)]
        assert cursors == [None, "3", "6"]

    @pytest.mark.parametrize("v2", [True, False], ids=["v2", "v1"])
    async def test_no_trace_yet_is_empty(self, make: MakeSource, v2: bool) -> None:
        async with running(double(v2=v2, runs=[])) as langsmith:
            assert await make("langsmith", langsmith, project="agents").fetch(ROOT) == []


class TestWhatIsAsked:
    async def test_v2_is_asked_with_the_project_and_a_wide_window(self, make: MakeSource) -> None:
        async with running(double()) as langsmith:
            await make("langsmith", langsmith, project="agents").fetch(ROOT)
        assert langsmith.paths == [SESSIONS, V2]
        body = langsmith.asked[1].body
        assert (body["project_ids"], body["trace_id"]) == ([SESSION], ROOT)
        assert {"ID", "RUN_TYPE", "TOTAL_COST", "PARENT_RUN_IDS"} <= set(body["selects"])
        assert body["min_start_time"].endswith("Z")

    async def test_without_a_project_v1_is_asked_by_trace(self, make: MakeSource) -> None:
        async with running(double()) as langsmith:
            assert await make("langsmith", langsmith).fetch(ROOT)
        assert langsmith.paths == [V1]
        assert (langsmith.asked[0].body["trace"], langsmith.asked[0].body["limit"]) == (ROOT, 100)

    @pytest.mark.parametrize("v2", [True, False], ids=["v2", "v1"])
    async def test_a_trace_is_found_by_its_tag(self, make: MakeSource, v2: bool) -> None:
        runs = agent_run(**{"evaltower.run_id": RUN})
        async with running(double(v2=v2, runs=runs)) as langsmith:
            source = make("langsmith", langsmith, correlate="tag", project="agents")
            assert len(await source.fetch(RUN)) == 4
            assert await source.fetch("another/ep0000") == []

    async def test_a_project_that_is_not_there_or_not_said_is_an_error(self, make: MakeSource) -> None:
        with pytest.raises(CollectError, match=r"trace\.project is missing"):
            make("langsmith", "http://127.0.0.1:9", correlate="tag")
        async with running(double()) as langsmith:
            with pytest.raises(CollectError, match="there is no project 'agent'"):
                await make("langsmith", langsmith, correlate="tag", project="agent").fetch(RUN)
