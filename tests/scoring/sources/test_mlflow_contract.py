"""Contract tests: against a double that answers as MLflow does."""

from __future__ import annotations

from typing import Any

import pytest

from engine.scoring.sources import CollectError
from tests.fakes.platforms.double import running
from tests.fakes.platforms.mlflow_reads import MlflowDouble, MlflowTrace
from tests.scoring.sources.conftest import RUN, TRACE, MakeSource
from tests.scoring.sources.otlp_spans import AGENT_RUN, snake, span

GET, SEARCH = "/api/3.0/mlflow/traces/get", "/api/3.0/mlflow/traces/search"
SEARCHED = {"correlate": "tag", "experiment": "1"}


def agent_run(**fields: Any) -> MlflowTrace:
    return MlflowTrace(**{"trace_id": f"tr-{TRACE}", "spans": snake(AGENT_RUN), **fields})


@pytest.mark.case(40)
class TestById:
    async def test_spans_in_snake_case_are_mapped_with_their_status(self, make: MakeSource) -> None:
        async with running(MlflowDouble(traces=[agent_run()])) as mlflow:
            found = await make("mlflow", mlflow).fetch(f"tr-{TRACE}")
        assert [event["kind"] for event in found] == ["llm_call", "tool_call", "tool_result", "message"]
        assert found[0]["cost"] == {"prompt_tokens": 30, "completion_tokens": 5, "usd": 0.25}
        assert found[2]["ok"] is False
        assert (mlflow.asked[0].path, mlflow.asked[0].query) == (GET, {"trace_id": f"tr-{TRACE}"})

    async def test_a_trace_that_came_by_otlp_has_mlflows_prefix(self, make: MakeSource) -> None:
        async with running(MlflowDouble(traces=[agent_run()])) as mlflow:
            assert await make("mlflow", mlflow).fetch(TRACE)

    async def test_tokens_that_mlflow_gathers_are_read(self, make: MakeSource) -> None:
        tokens = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
        chat = span("chat", mlflow_chat_tokenUsage=tokens, mlflow_spanType='"CHAT_MODEL"')
        async with running(MlflowDouble(traces=[agent_run(spans=snake([chat]))])) as mlflow:
            [call] = await make("mlflow", mlflow).fetch(TRACE)
        assert call["cost"] == {"prompt_tokens": 7, "completion_tokens": 3}

    async def test_no_trace_and_one_whose_spans_are_not_stored_are_empty(self, make: MakeSource) -> None:
        async with running(MlflowDouble(traces=[agent_run(spans=None)])) as mlflow:
            assert await make("mlflow", mlflow).fetch("tr-absent") == []
            assert await make("mlflow", mlflow).fetch(TRACE) == []

    async def test_another_500_is_an_error(self, make: MakeSource) -> None:
        async with running(MlflowDouble(instead={GET: (500, {"message": "no disk"})})) as mlflow:
            with pytest.raises(CollectError, match="no disk") as raised:
                await make("mlflow", mlflow).fetch(TRACE)
        assert raised.value.status == 500


@pytest.mark.case(41)
class TestSearch:
    async def test_the_body_names_the_experiment_and_quotes_the_run(self, make: MakeSource) -> None:
        async with running(MlflowDouble(traces=[agent_run(tags={"evaltower.run_id": "it's"})])) as mlflow:
            assert await make("mlflow", mlflow, **SEARCHED).fetch("it's")
        assert mlflow.asked[0].body == {
            "locations": [{"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "1"}}],
            "filter": "tags.`evaltower.run_id` = 'it''s'",
            "max_results": 100,
        }
        assert mlflow.paths == [SEARCH, GET]

    async def test_metadata_is_searched_where_no_tag_is_found(self, make: MakeSource) -> None:
        async with running(MlflowDouble(traces=[agent_run(metadata={"evaltower.run_id": RUN})])) as mlflow:
            assert await make("mlflow", mlflow, **SEARCHED).fetch(RUN)
        assert [asked.body["filter"].partition(".")[0] for asked in mlflow.asked[:2]] == [
            "tags",
            "request_metadata",
        ]

    async def test_a_miss_is_empty(self, make: MakeSource) -> None:
        async with running(MlflowDouble(traces=[agent_run(tags={"evaltower.run_id": "other"})])) as mlflow:
            assert await make("mlflow", mlflow, **SEARCHED).fetch(RUN) == []

    async def test_all_pages_and_all_traces_are_read(self, make: MakeSource) -> None:
        tags = {"evaltower.run_id": RUN}
        traces = [agent_run(trace_id=f"tr-{n}", tags=tags) for n in range(5)]
        async with running(MlflowDouble(traces=traces, page=2)) as mlflow:
            found = await make("mlflow", mlflow, **SEARCHED).fetch(RUN)
        assert sum(event["kind"] == "llm_call" for event in found) == 5
        assert [asked.body.get("page_token") for asked in mlflow.asked[:3]] == [None, "2", "4"]

    async def test_an_experiment_may_be_named(self, make: MakeSource) -> None:
        trace = agent_run(experiment_id="7", tags={"evaltower.run_id": RUN})
        async with running(MlflowDouble(traces=[trace], experiments={"agents": "7"})) as mlflow:
            assert await make("mlflow", mlflow, correlate="tag", experiment="agents").fetch(RUN)
            with pytest.raises(CollectError, match="there is no experiment 'agent'"):
                await make("mlflow", mlflow, correlate="tag", experiment="agent").fetch(RUN)

    async def test_a_missing_experiment_is_an_error_that_names_it(self, make: MakeSource) -> None:
        with pytest.raises(CollectError, match=r"trace\.experiment is missing"):
            make("mlflow", "http://127.0.0.1:9", correlate="tag")

    async def test_pages_that_do_not_end_are_an_error(self, make: MakeSource) -> None:
        endless = {"traces": [{"trace_id": "tr-1"}], "next_page_token": "again"}
        async with running(MlflowDouble(instead={SEARCH: (200, endless)})) as mlflow:
            with pytest.raises(CollectError, match="pages do not end"):
                await make("mlflow", mlflow, **SEARCHED).fetch(RUN)
