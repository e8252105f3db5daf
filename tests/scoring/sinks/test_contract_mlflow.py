from __future__ import annotations

import httpx
import pytest

from engine.scoring.sinks import ExportError, make_sink
from engine.scoring.spec import SinkSpec
from tests.fakes.platforms.mlflow_sink import API, MlflowSink
from tests.fakes.platforms.otlp_sink import spans_of
from tests.fakes.platforms.sink_server import dies, running, says
from tests.scoring.sinks.items import NAMES, SCORED_AGAIN, item


def _spec(server: MlflowSink, experiment: str = "7") -> SinkSpec:
    return SinkSpec(name="flow", kind="mlflow", endpoint=server.url, experiment=experiment)


@pytest.mark.case(46)
async def test_create_starts_a_trace_sends_its_spans_and_an_assessment_a_score(
    client: httpx.AsyncClient,
) -> None:
    async with running(MlflowSink()) as server:
        outcome = await make_sink(_spec(server), "user-and-token", client).export(item())

        trace_id = outcome.external_id
        assert (outcome.error, outcome.warning) == (None, None)
        assert outcome.url == f"{server.url}/#/experiments/7/traces?selectedEvaluationId={trace_id}"
        info = server.sent(API)[0].body["trace"]["trace_info"]
        assert info["trace_id"] == trace_id
        assert trace_id.startswith("tr-")
        assert info["trace_location"]["mlflow_experiment"] == {"experiment_id": "7"}
        assert info["request_time"] == "2026-08-01T10:00:00.000000+00:00"
        assert (info["execution_duration"], info["state"]) == ("2.500s", "OK")
        assert (info["request_preview"], info["response_preview"]) == ("fix the bug", "it is fixed")
        assert info["tags"]["evaltower.episode"] == "20260801_100000/ep0003"
        (spans,) = server.sent("/v1/traces")
        assert spans.headers["x-mlflow-experiment-id"] == "7"
        assert {span["traceId"] for span in spans_of(spans.body)} == {trace_id.removeprefix("tr-")}
        found = server.assessments(trace_id)
        assert [one["assessment_name"] for one in found] == NAMES
        assert found[0]["source"] == {"source_type": "CODE", "source_id": "evaltower:20260801_100000"}
        assert found[1]["source"] == {"source_type": "LLM_JUDGE", "source_id": "gpt-judge"}
        assert found[1]["feedback"] == {"value": 0.123456}
        assert (found[1]["rationale"], found[1]["metadata"]["pass"]) == ("too curt", "false")
        assert {seen.headers["Authorization"] for seen in server.seen} == {"Bearer user-and-token"}


@pytest.mark.case(46)
async def test_attach_sends_scores_alone_to_the_trace_that_is_there(client: httpx.AsyncClient) -> None:
    async with running(MlflowSink(traces={"tr-there": {"assessments": []}})) as server:
        outcome = await make_sink(_spec(server), None, client).export(item(existing_id="tr-there"))

        assert (outcome.external_id, outcome.error) == ("tr-there", None)
        assert [one["assessment_name"] for one in server.assessments("tr-there")] == NAMES
        assert not server.sent(API)
        assert not server.sent("/v1/traces")


@pytest.mark.case(47)
async def test_spans_that_do_not_arrive_are_a_warning_and_the_scores_stand(client: httpx.AsyncClient) -> None:
    async with running(MlflowSink()) as server:
        server.then("/v1/traces", says(500, "span store is full"))
        outcome = await make_sink(_spec(server), None, client).export(item())

        assert outcome.error is None
        assert "span store is full" in (outcome.warning or "")
        assert len(server.assessments(outcome.external_id)) == 3


@pytest.mark.case(47)
async def test_an_assessment_that_is_refused_does_not_keep_the_others_out(client: httpx.AsyncClient) -> None:
    async with running(MlflowSink(refuses={"tests_pass"})) as server:
        outcome = await make_sink(_spec(server), None, client).export(item())

        assert outcome.error is not None
        assert outcome.error.startswith("1 of 3 scores were refused: tests_pass: HTTP 400")
        assert [one["assessment_name"] for one in server.assessments(outcome.external_id)] == NAMES[1:]


@pytest.mark.case(47)
async def test_without_an_experiment_nothing_is_asked_and_the_remedy_is_said(
    client: httpx.AsyncClient,
) -> None:
    async with running(MlflowSink()) as server:
        with pytest.raises(ExportError, match="names no experiment: give its id or its name"):
            await make_sink(_spec(server, ""), None, client).export(item())
        assert not server.seen


async def test_an_experiment_may_go_by_its_name_which_is_asked_once(client: httpx.AsyncClient) -> None:
    async with running(MlflowSink()) as server:
        sink = make_sink(_spec(server, "evals"), None, client)
        assert "/experiments/7/" in (await sink.export(item(1))).url
        await sink.export(item(2))
        assert len(server.sent("/get-by-name", "GET")) == 1

        with pytest.raises(ExportError, match="there is no experiment 'evils': HTTP 404"):
            await make_sink(_spec(server, "evils"), None, client).export(item())


@pytest.mark.case(50)
async def test_an_export_that_is_repeated_leaves_each_score_once(client: httpx.AsyncClient) -> None:
    async with running(MlflowSink()) as server:
        sink = make_sink(_spec(server), None, client)
        server.then("/assessments", says(503, "busy"))
        first = await sink.export(item(key="run/ep3"))
        again = await sink.export(item(key="run/ep3"))
        other = await sink.export(item(key="run/ep4"))

        assert "busy" in (first.error or "")
        assert first.external_id == again.external_id != other.external_id
        names = [one["assessment_name"] for one in server.assessments(again.external_id)]
        assert sorted(names) == sorted(NAMES)


async def test_what_an_episode_scored_again_has_replaces_what_it_had(client: httpx.AsyncClient) -> None:
    async with running(MlflowSink()) as server:
        sink = make_sink(_spec(server), None, client)
        await sink.export(item(key="run/ep3"))
        outcome = await sink.export(item(key="run/ep3", scores=SCORED_AGAIN))

        assert outcome.error is None
        found = {one["assessment_name"]: one for one in server.assessments(outcome.external_id)}
        assert list(found) == NAMES
        assert found["judge:tone"]["feedback"] == {"value": 0.5}
        assert found["judge:tone"]["rationale"] == "on reflection, fine"
        assert found["judge:tone"]["metadata"]["pass"] == "true"
        assert (
            len([seen for seen in server.seen if seen.method == "PATCH"]) == 1
        )  # the others are as they were


async def test_a_platform_that_dies_between_scores_leaves_what_is_known_of_the_trace(
    client: httpx.AsyncClient,
) -> None:
    async with running(MlflowSink()) as server:
        server.then("/assessments", dies())
        outcome = await make_sink(_spec(server), None, client).export(item())

        assert outcome.external_id in server.traces
        assert "the connection failed" in (outcome.error or "")


async def test_a_trace_is_in_several_requests_where_it_is_large(client: httpx.AsyncClient) -> None:
    large = [{"kind": "message", "role": "assistant", "text": "x" * 190_000, "t": n} for n in range(40)]
    async with running(MlflowSink()) as server:
        outcome = await make_sink(_spec(server), None, client).export(item(events=large))

        sent = server.sent("/v1/traces")
        assert len(sent) > 1
        assert max(seen.size for seen in sent) < 3_100_000
        assert sum(len(spans_of(seen.body)) for seen in sent) == 41
        assert outcome.warning is None
