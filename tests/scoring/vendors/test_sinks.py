"""Contract tests: the vendors' own clients write to the doubles, and what they send is held against what our
sinks send."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from engine.scoring.sinks import make_sink
from engine.scoring.spec import SinkSpec
from tests.fakes.platforms.langfuse_sink import LangfuseSink
from tests.fakes.platforms.langsmith_sink import SESSION, LangSmithSink
from tests.fakes.platforms.otlp_sink import flat, spans_of
from tests.fakes.platforms.sink_server import SinkServer, running
from tests.scoring.sinks.items import item
from tests.scoring.vendors.conftest import Client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


async def test_runs_and_feedback_have_the_shape_that_langsmiths_client_gives_them(client_of: Client) -> None:
    async with (
        running(LangSmithSink()) as theirs,
        running(LangSmithSink()) as ours,
        httpx.AsyncClient(verify=False) as client,
    ):
        await client_of("langsmith_writes.py", theirs.url, SESSION)
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


async def test_scores_and_attributes_are_those_that_langfuses_client_knows(client_of: Client) -> None:
    async with (
        running(LangfuseSink()) as theirs,
        running(LangfuseSink()) as ours,
        httpx.AsyncClient(verify=False) as client,
    ):
        known = await client_of("langfuse_writes.py", theirs.url)
        spec = SinkSpec(name="fuse", kind="langfuse", endpoint=ours.url)
        await make_sink(spec, "pk-lf-1:sk-lf-2", client).export(item())

    for path in ("/api/public/otel/v1/traces", "/api/public/scores"):
        sent, expected = ours.sent(path)[0], theirs.sent(path)[0]
        assert sent.headers["Authorization"] == expected.headers["Authorization"]
        version = "x-langfuse-ingestion-version"
        assert path.endswith("scores") or sent.headers[version] == _header(expected.headers, version)
    (theirs_score,) = theirs.sent("/api/public/scores")[0].body
    assert len(ours.scores) == 3
    for score in ours.scores.values():
        assert score.keys() <= theirs_score.keys()
    spans = spans_of(ours.sent("/api/public/otel/v1/traces")[0].body)
    names = {name for span in spans for name in flat(span["attributes"]) if name.startswith("langfuse.")}
    assert names
    assert {name.partition(".metadata.")[0] + ".metadata" * (".metadata." in name) for name in names} <= {
        *known
    }


def _header(headers: dict[str, str], name: str) -> str | None:
    return {key.lower(): value for key, value in headers.items()}.get(name)
