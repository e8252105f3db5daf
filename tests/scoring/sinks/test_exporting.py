from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import httpx
import pytest

from engine.scoring import platform
from engine.scoring.exporting import Exporter, fold_exports
from engine.scoring.secrets import Secrets
from engine.scoring.sinks import ExportItem, phoenix
from engine.scoring.spec import SinkSpec, TraceSpec
from engine.scoring.streams import BoundedStream
from engine.store.records import EpisodeRow
from engine.store.scores import ExportOutcome, Measured, Unmeasured
from tests.fakes.platforms.langfuse_sink import LangfuseSink
from tests.fakes.platforms.langsmith_sink import LangSmithSink
from tests.fakes.platforms.mlflow_sink import MlflowSink
from tests.fakes.platforms.otlp_sink import OtlpSink
from tests.fakes.platforms.phoenix_sink import PhoenixSink
from tests.fakes.platforms.sink_server import Act, SinkServer, dies, hangs, running, says
from tests.scoring.sinks.items import item

DOUBLES: dict[str, type[SinkServer]] = {
    "langfuse": LangfuseSink,
    "langsmith": LangSmithSink,
    "mlflow": MlflowSink,
    "otlp": OtlpSink,
    "phoenix": PhoenixSink,
}


def spec(kind: str, endpoint: str, name: str = "", secret: str = "") -> SinkSpec:
    return SinkSpec(  # type: ignore[arg-type]
        name=name or kind, kind=kind, endpoint=endpoint, project="evals", experiment="7", auth_secret=secret
    )


def _rows(*episodes: list[ExportOutcome]) -> list[EpisodeRow]:
    return [
        EpisodeRow(episode_index=index, status="completed", termination="stopped", exports=exports)
        for index, exports in enumerate(episodes)
    ]


@pytest.mark.case(24)
async def test_each_episode_is_a_call_of_its_own_and_the_first_is_out_before_all_are_settled(
    secrets: Secrets, client: httpx.AsyncClient
) -> None:
    async with running(OtlpSink()) as server:
        server.then("/v1/traces", hangs())
        exporter = Exporter([spec("otlp", server.url)], secrets, client=client)
        outcomes: list[ExportOutcome] = []

        async def export(one: ExportItem) -> None:
            outcomes.extend(await exporter.export(one))

        stream = BoundedStream(2, export)
        stream.push(item(1))
        while not server.seen:
            await asyncio.sleep(0.01)
        await stream.push(item(2)).done()
        assert [outcome.error for outcome in outcomes] == [None]

        server.closing.set()
        await stream.settle()
        assert len(server.sent("/v1/traces")) == 2
        assert [outcome.error for outcome in outcomes] == [None, None]


@pytest.mark.case(26)
async def test_where_some_episodes_failed_the_sink_is_partial(
    secrets: Secrets, client: httpx.AsyncClient
) -> None:
    async with running(OtlpSink()) as server:
        server.then("/v1/traces", says(500, "full"))
        exporter = Exporter([spec("otlp", server.url)], secrets, client=client)

        (report,) = fold_exports(_rows(await exporter.export(item(1)), await exporter.export(item(2))))

    assert (report.status, report.message) == ("partial", "1/2 episodes failed to export")
    assert "HTTP 500: full" in (report.cases[0].error or "")
    assert report.cases[1].error is None


@pytest.mark.case(27)
@pytest.mark.case(33)
async def test_where_all_failed_it_failed_with_what_the_first_said_and_nothing_is_raised(
    secrets: Secrets, client: httpx.AsyncClient
) -> None:
    async with running(OtlpSink()) as server:
        server.then("/v1/traces", says(503, "first"), says(503, "second"))
        exporter = Exporter([spec("otlp", server.url)], secrets, client=client)

        (report,) = fold_exports(_rows(await exporter.export(item(1)), await exporter.export(item(2))))

    assert report.status == "failed"
    assert report.message.endswith("first")


@pytest.mark.case(28)
async def test_a_secret_that_is_missing_fails_each_export_and_nothing_is_ever_asked(
    tmp_path: Path, client: httpx.AsyncClient
) -> None:
    async with running(OtlpSink()) as server:
        sinks = [spec("otlp", server.url, secret="platform"), spec("otlp", server.url, "open")]
        exporter = Exporter(sinks, Secrets(tmp_path, {}), client=client)

        closed, opened = await exporter.export(item())

        assert "there is no secret 'platform': neither EVALTOWER_SECRET_PLATFORM in" in (closed.error or "")
        assert opened.error is None
        assert len(server.seen) == 1


@pytest.mark.case(29)
async def test_without_sinks_nothing_is_exported_and_nothing_reported(secrets: Secrets) -> None:
    exporter = Exporter([], secrets)
    assert await exporter.export(item()) == []
    await exporter.close()
    assert fold_exports(_rows([], [])) == []


@pytest.mark.case(30)
async def test_scores_are_added_to_a_trace_only_where_it_came_from(
    secrets: Secrets, client: httpx.AsyncClient
) -> None:
    there = {"tr-there": {"assessments": []}}
    async with (
        running(MlflowSink(traces=there)) as ours,
        running(MlflowSink()) as other,
        running(PhoenixSink()) as bird,
    ):
        sinks = [
            spec("mlflow", ours.url + "/"),
            spec("mlflow", other.url, "other"),
            spec("phoenix", bird.url),
        ]
        trace = TraceSpec(kind="mlflow", endpoint=ours.url)
        exporter = Exporter(sinks, secrets, trace, client)

        attached, *made = await exporter.export(item(existing_id="tr-there"))
        assert attached.external_id == "tr-there"
        assert all(outcome.error is None and outcome.external_id != "tr-there" for outcome in made)

        (unknown, *_) = await exporter.export(item())
        assert unknown.external_id not in ("", "tr-there")


@pytest.mark.case(31)
@pytest.mark.parametrize("kind", DOUBLES)
async def test_an_episode_of_which_nothing_was_measured_is_exported_without_a_number(
    secrets: Secrets, client: httpx.AsyncClient, kind: str
) -> None:
    async with running(DOUBLES[kind]()) as server:
        exporter = Exporter([spec(kind, server.url)], secrets, client=client)
        nothing = Unmeasured(grader_id="cost", metric="usd", reason="missing_evidence")

        (outcome,) = await exporter.export(item(scores=[nothing]))

        assert outcome.error is None
        assert "usd" not in str([(seen.body, seen.parts) for seen in server.seen]).replace("usd_", "")
        for path in ("/assessments", "/scores", "/feedback", "/trace_annotations"):
            assert not server.sent(path)


@pytest.mark.case(32)
def test_a_warning_leaves_the_sink_succeeded() -> None:
    warned = ExportOutcome(sink="mlflow", name="flow", warning="its spans did not arrive")
    linked = ExportOutcome(sink="mlflow", name="flow", url="http://x/2")

    (report,) = fold_exports(_rows([warned], [linked]))

    assert (report.status, report.message, report.url) == ("succeeded", "", "http://x/2")
    assert [case.warning for case in report.cases] == ["its spans did not arrive", None]


ARRIVED = ExportOutcome(sink="otlp", name="otlp", where="trace 1 at http://x")
LOST = ExportOutcome(sink="otlp", name="otlp", error="full")


@pytest.mark.parametrize(
    ("episodes", "status", "message", "counts"),
    [
        ([], "nothing sent", "", (0, 0, 0)),
        ([[], []], "pending", "2 to come", (0, 2, 2)),
        ([[ARRIVED], []], "pending", "1 to come", (1, 1, 2)),
        ([[LOST], [], []], "pending", "2 to come; 1/1 episodes failed to export", (0, 2, 3)),
        ([[ARRIVED], [ARRIVED]], "succeeded", "", (2, 0, 2)),
    ],
)
def test_a_sink_to_which_not_all_went_has_not_succeeded(
    episodes: list[list[ExportOutcome]], status: str, message: str, counts: tuple[int, int, int]
) -> None:
    (report,) = fold_exports(_rows(*episodes), [spec("otlp", "http://x")])
    assert (report.status, report.message) == (status, message)
    assert (report.sent, report.waiting, report.total) == counts
    assert report.is_left == (report.sent < report.total)


async def test_every_outcome_says_where_the_trace_is(secrets: Secrets, client: httpx.AsyncClient) -> None:
    for kind, double in DOUBLES.items():
        async with running(double()) as server:
            asked = spec(kind, server.url + ("/v1/traces" if kind == "otlp" else ""))
            (outcome,) = await Exporter([asked], secrets, client=client).export(item())
            known = outcome.external_id.removeprefix("tr-")
            assert known
            if kind == "otlp":
                assert (outcome.url, outcome.where) == ("", f"trace {known} at {server.url}")
            else:
                assert outcome.url.startswith(server.url.replace("/api", ""))
                assert known in outcome.url
                assert outcome.where == ""


async def test_where_a_platform_tells_of_no_page_it_is_told_what_to_look_for(
    secrets: Secrets, client: httpx.AsyncClient
) -> None:
    async with running(LangfuseSink()) as fuse, running(LangSmithSink(sessions=False)) as smith:
        fuse.then("/api/public/projects", says(403, "no"))
        exporter = Exporter(
            [spec("langfuse", fuse.url), spec("langsmith", smith.url)], secrets, client=client
        )
        at_fuse, at_smith = await exporter.export(item(key="k"))
        smith.then(f"/runs/{at_smith.external_id}", says(404))
        _, unknown = await exporter.export(item(key="k"))

    assert at_fuse.url == f"{fuse.url}/trace/{at_fuse.external_id}"
    assert at_smith.url.endswith(f"/runs/{at_smith.external_id}")
    assert (unknown.url, unknown.where) == ("", f"trace {at_smith.external_id} at {smith.url}")


@pytest.mark.parametrize("kind", DOUBLES)
@pytest.mark.parametrize(
    ("act", "told"),
    [
        (says(503, "come back later"), "HTTP 503: come back later"),
        (says(302, "over there"), "HTTP 302: over there"),
        (dies(), "the connection failed"),
        (hangs(), "no answer within 0.5 s"),
    ],
    ids=["5xx", "redirect", "dies", "hangs"],
)
async def test_a_platform_that_fails_is_an_outcome_with_the_reason(
    secrets: Secrets,
    client: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    act: Act,
    told: str,
) -> None:
    monkeypatch.setattr(platform, "REQUEST_SEC", 0.5)
    async with running(DOUBLES[kind]()) as server:
        server.then("", act)
        (outcome,) = await Exporter([spec(kind, server.url)], secrets, client=client).export(item())

    assert told in (outcome.error or "")
    assert (outcome.sink, outcome.external_id) == (kind, "")
    assert outcome.exported_at


@pytest.mark.parametrize("kind", DOUBLES)
async def test_answers_that_are_not_what_they_should_be_raise_nothing(
    secrets: Secrets,
    client: httpx.AsyncClient,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    monkeypatch.setattr(phoenix, "INSERTED_SEC", 0.1)
    for garbage in (
        "",
        "[[90]]",
        "null",
        '{"data": 3, "errors": "x", "partialSuccess": [], "trace": 1}',
        "\xff",
    ):
        async with running(DOUBLES[kind]()) as server:
            server.then("", *[says(200, garbage)] * 20)
            with caplog.at_level(logging.ERROR):
                exporter = Exporter([spec(kind, server.url)], secrets, client=client)
                (outcome,) = await exporter.export(item(key="k"))
        assert outcome.external_id
    assert not caplog.records


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:9", "no url", "ftp://x", "http://[", "http://no.invalid"]
)
async def test_an_endpoint_where_nobody_is_is_an_outcome(secrets: Secrets, endpoint: str) -> None:
    exporter = Exporter([spec("otlp", endpoint)], secrets)
    (outcome,) = await exporter.export(item())
    await exporter.close()

    assert outcome.error


async def test_a_slow_sink_ends_at_its_limit_and_keeps_no_other_waiting(
    secrets: Secrets, client: httpx.AsyncClient
) -> None:
    async with running(OtlpSink()) as slow, running(OtlpSink()) as quick:
        slow.then("/v1/traces", hangs())
        sinks = [spec("otlp", slow.url, "slow"), spec("otlp", quick.url, "quick")]
        exporter = Exporter(sinks, secrets, client=client, timeout_sec=0.3)

        first, second = await exporter.export(item())

    assert first.error == "it was not done within 0.3 s"
    assert second.error is None


async def test_a_fault_of_ours_is_an_outcome_too_and_is_logged(
    secrets: Secrets, client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    unfit = Measured(grader_id="g", metric="m", value=1.0, detail=object())
    exporter = Exporter([spec("otlp", "http://127.0.0.1:9")], secrets, client=client)

    (outcome,) = await exporter.export(item(scores=[unfit]))

    assert "cannot write a object as JSON" in (outcome.error or "")
    assert "exporting 20260801_100000/ep0003 to otlp failed" in caplog.text


async def test_no_secret_of_the_root_is_in_what_is_sent_or_said(
    secrets: Secrets, client: httpx.AsyncClient
) -> None:
    leaked = [{"kind": "message", "role": "assistant", "text": "env says pk-lf-1:sk-lf-2", "t": 0}]
    async with running(OtlpSink()) as server:
        exporter = Exporter([spec("otlp", server.url, secret="platform")], secrets, client=client)
        await exporter.export(item(events=leaked))
        server.then("/v1/traces", says(403, "a-token-of-the-platform may not write"))
        (refused,) = await exporter.export(item(events=leaked))

        assert "env says [key]" in str(server.seen[0].body)
        assert "sk-lf-2" not in str(server.seen[0].body)
        assert server.seen[0].headers["Authorization"] == "Bearer a-token-of-the-platform"
    assert "[key] may not write" in (refused.error or "")
    assert "a-token-of-the-platform" not in repr(exporter)
