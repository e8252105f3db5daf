"""The vendors' own clients write to the doubles, and what they send is held against what our sinks send.

They need the packages of the vendors, and are left out where those are not installed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from engine.scoring.sinks import make_sink
from engine.scoring.spec import SinkSpec
from tests.fakes.platforms.langfuse_sink import LangfuseSink
from tests.fakes.platforms.langsmith_sink import SESSION, LangSmithSink
from tests.fakes.platforms.otlp_sink import flat, spans_of
from tests.fakes.platforms.sink_server import SinkServer, running
from tests.scoring.sinks.items import item


@pytest.fixture
def langsmith_client() -> Callable[[str], Any]:
    langsmith = pytest.importorskip("langsmith")
    return lambda url: langsmith.Client(api_url=url, api_key="ls-key-123456", auto_batch_tracing=False)


async def _with_langsmith(server: LangSmithSink, client: Any) -> None:
    """Write a run in each way, and feedback, as a user of the SDK does."""
    run_id = uuid4()
    now = datetime.now(UTC)
    run = {
        "id": run_id,
        "trace_id": run_id,
        "dotted_order": f"{now:%Y%m%dT%H%M%S%f}Z{run_id}",
        "name": "fixer",
        "run_type": "llm",
        "inputs": {"input": "x"},
        "outputs": {"output": "y"},
        "start_time": now,
        "end_time": now,
        "error": "no",
        "session_name": "evals",
        "extra": {"metadata": {"ls_model_name": "gpt-tiny"}},
    }
    await asyncio.to_thread(client.multipart_ingest, create=[dict(run)])
    one = {**run, "id": uuid4()}
    kind = one.pop("run_type")
    await asyncio.to_thread(
        client.create_run, one.pop("name"), one.pop("inputs"), kind, project_name="evals", **one
    )
    await asyncio.to_thread(
        client.create_feedback,
        run_id,
        "tests_pass",
        score=0.123456,
        value="good",
        comment="why",
        session_id=UUID(SESSION),
        feedback_source_type="model",
    )
    await asyncio.to_thread(client.read_project, project_name="evals")


async def test_runs_and_feedback_have_the_shape_that_langsmiths_client_gives_them(
    client: httpx.AsyncClient, langsmith_client: Callable[[str], Any]
) -> None:
    async with running(LangSmithSink()) as theirs, running(LangSmithSink()) as ours:
        await _with_langsmith(theirs, langsmith_client(theirs.url))
        spec = SinkSpec(name="smith", kind="langsmith", endpoint=ours.url, project="evals")
        await make_sink(spec, "ls-key-123456", client).export(item())
        ours.multipart = False
        await make_sink(spec, "ls-key-123456", client).export(item())

    for path, method in [
        ("/runs/multipart", "POST"),
        ("/runs", "POST"),
        ("/sessions", "GET"),
        ("/feedback", "POST"),
    ]:
        sent, expected = ours.sent(path, method)[0], theirs.sent(path, method)[0]
        assert sent.headers["x-api-key"] == expected.headers["x-api-key"]
        assert sent.query.keys() <= expected.query.keys()
    (theirs_one,) = theirs.sent("/runs")
    assert {key for seen in ours.sent("/runs") for key in seen.body} <= theirs_one.body.keys() | {
        "parent_run_id"
    }
    parts = [{name.partition(".")[0] + name[41:] for name in s.parts} for s in _parts(ours, theirs)]
    assert parts[0] <= parts[1]
    told = [next(iter(seen.parts.values())).keys() for seen in _parts(ours, theirs)]
    assert told[0] <= told[1]
    feedback = theirs.sent("/feedback")[0].body
    for body in (seen.body for seen in ours.sent("/feedback")):
        assert body.keys() <= feedback.keys() | {"trace_id"}
        assert body["feedback_source"].keys() <= feedback["feedback_source"].keys()
    assert [body["score"] for body in theirs.feedback.values()] == [0.1235]


def _parts(*servers: SinkServer) -> list[Any]:
    return [server.sent("/runs/multipart")[0] for server in servers]


async def test_scores_and_attributes_are_those_that_langfuses_client_knows(client: httpx.AsyncClient) -> None:
    langfuse = pytest.importorskip("langfuse")
    from langfuse import LangfuseOtelSpanAttributes

    async with running(LangfuseSink()) as theirs, running(LangfuseSink()) as ours:
        sdk = langfuse.Langfuse(public_key="pk-lf-1", secret_key="sk-lf-2", base_url=theirs.url)
        try:
            with sdk.start_as_current_observation(name="fixer", as_type="agent"):
                trace_id = sdk.get_current_trace_id()
            sdk.create_score(
                score_id="s1",
                trace_id=trace_id,
                name="tests_pass",
                value=1.0,
                data_type="NUMERIC",
                comment="why",
                metadata={"a": "b"},
            )
            await asyncio.to_thread(sdk.flush)
        finally:
            await asyncio.to_thread(sdk.shutdown)
        spec = SinkSpec(name="fuse", kind="langfuse", endpoint=ours.url)
        await make_sink(spec, "pk-lf-1:sk-lf-2", client).export(item())

    for path in ("/api/public/otel/v1/traces", "/api/public/scores"):
        sent, expected = ours.sent(path)[0], theirs.sent(path)[0]
        assert sent.headers["Authorization"] == expected.headers["Authorization"]
        version = "x-langfuse-ingestion-version"
        assert path.endswith("scores") or sent.headers[version] == _header(expected.headers, version)
    (theirs_score,) = theirs.sent("/api/public/scores")[0].body
    for score in ours.scores.values():
        assert score.keys() <= theirs_score.keys()
    known = {str(value) for name, value in vars(LangfuseOtelSpanAttributes).items() if name.isupper()}
    spans = spans_of(ours.sent("/api/public/otel/v1/traces")[0].body)
    names = {name for span in spans for name in flat(span["attributes"]) if name.startswith("langfuse.")}
    assert {name.partition(".metadata.")[0] + ".metadata" * (".metadata." in name) for name in names} <= known


def _header(headers: dict[str, str], name: str) -> str | None:
    return {key.lower(): value for key, value in headers.items()}.get(name)
