"""An episode's trace is pulled from a platform, or is not; and what that makes of its row."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.scoring import collecting
from engine.scoring.again import to_score_again
from engine.scoring.collect import collect
from engine.scoring.evidence import read_events
from engine.scoring.graders import make_grader
from engine.scoring.pipeline import Pipeline
from engine.scoring.scored import Means
from engine.scoring.sources import CollectError, make_source
from engine.scoring.spec import GraderSpec, ScoringSpec, TraceSpec
from engine.store.records import EpisodeRow
from engine.store.scores import Measured, Score
from engine.store.strict_json import encode
from tests.fakes.platforms.double import Double, running
from tests.fakes.platforms.jaeger import JaegerDouble
from tests.scoring.sources.conftest import RUN
from tests.scoring.sources.otlp_spans import AGENT_RUN, resource_spans

OWN = {"kind": "tool_call", "name": "own"}
PASSED = Measured(grader_id="tests-pass", metric="tests_pass", value=1.0, passed=True)


class Kept:
    """Files that are written, and the rows."""

    def __init__(self) -> None:
        self.rows: list[EpisodeRow] = []

    async def record(self, row: EpisodeRow, folder: Path) -> None:
        self.rows.append(row)

    async def write(self, path: Path, value: Any) -> None:
        path.write_bytes(encode(value))

    async def write_bytes(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)


Pull = Callable[..., Any]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def sleep(seconds: float) -> None:
        """What is not there is asked for again without waiting."""

    monkeypatch.setattr(collecting, "collect", partial(collect, sleep=sleep))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "ep0003"
    found.mkdir()
    (found / "trace.jsonl").write_bytes(encode(OWN) + b"\n")
    return found


@pytest.fixture
async def pull(folder: Path) -> AsyncIterator[Pull]:
    """Score what is behind a row whose compute grader passed, or a row once more; keywords: of the trace."""
    async with httpx.AsyncClient(verify=False) as client:

        async def pulled(
            platform: Double | None, row: EpisodeRow | None = None, secret: str | None = None, **trace: Any
        ) -> EpisodeRow:
            at = {"kind": "otel", "endpoint": platform.url} if platform is not None else {}
            found_by = {"correlate": "tag", "service": "agent"}
            spec = ScoringSpec(trace=TraceSpec(**{**found_by, **at, **trace}))
            source, why = None, ""
            try:
                source = make_source(spec.trace, secret, client) if platform is not None else None
            except CollectError as error:
                why = error.message
            kinds = ("steps", "tests-pass")
            graders = [make_grader(GraderSpec(id=kind)) for kind in kinds]
            means = Means(spec, "20260518_143052", "g", graders, source=source, no_source=why)
            fresh = EpisodeRow(
                episode_index=3, status="completed", termination="stopped", scores=[PASSED], verdict=True
            )
            kept = Kept()
            pipeline = Pipeline(means, kept, lambda: None, in_backend=True)
            pipeline.push(3, to_score_again(means, row) if row else fresh, folder)
            await pipeline.settle()
            return kept.rows[-1]

        yield pulled


def jaeger(**options: Any) -> JaegerDouble:
    double = JaegerDouble(**options)
    double.put(resource_spans(AGENT_RUN, service_name="agent", evaltower_run__id=RUN))
    return double


def steps(row: EpisodeRow) -> list[Score]:
    return [score for score in row.scores if score.metric == "tool_calls"]


@pytest.mark.case(9)
async def test_what_is_fetched_is_added_once_and_only_what_waited_is_graded(pull: Pull, folder: Path) -> None:
    async with running(jaeger()) as platform:
        row = await pull(platform)
        again = await pull(platform, row)
    assert [event["kind"] for event in read_events(folder)] == [
        "tool_call",
        "llm_call",
        "tool_call",
        "tool_result",
        "message",
    ]
    for found in (row, again):
        assert [score.grader_id for score in found.scores] == ["steps", "tests-pass"], (
            "in the order of graders"
        )
        assert [score.value for score in found.scores if isinstance(score, Measured)] == [2.0, 1.0]


@pytest.mark.case(10)
async def test_a_pull_that_fails_keeps_the_ground_truth_and_measures_no_steps(pull: Pull) -> None:
    async with running(JaegerDouble(instead={"/api/v3/traces": (503, "down")})) as platform:
        row = await pull(platform)
    assert row.failure is not None
    assert {name: row.failure[name] for name in ("stage", "class", "code", "retryable")} == {
        "stage": "collect",
        "class": "infra",
        "code": "TRACE_COLLECT_FAILED",
        "retryable": True,
    }
    assert "HTTP 503: down" in row.failure["message"]
    assert (row.status, row.verdict) == ("completed", True)
    assert PASSED in row.scores
    assert not any(isinstance(score, Measured) for score in steps(row))
    assert row.trace_ref is not None
    assert (row.trace_ref["kind"], row.trace_ref["run_id"]) == ("otel", RUN)


@pytest.mark.case(10)
async def test_a_pull_that_fails_is_an_event_where_grading_is_to_go_on(pull: Pull, folder: Path) -> None:
    async with running(JaegerDouble(instead={"/api/v3/traces": (503, "down")})) as platform:
        row = await pull(platform, on_pull_error="degrade")
    assert row.failure is None
    errors = [event for event in read_events(folder) if event["kind"] == "error"]
    assert ["HTTP 503: down" in event["message"] for event in errors] == [True]
    assert [score.value for score in steps(row) if isinstance(score, Measured)] == [1.0]


@pytest.mark.case(11)
async def test_a_failed_pull_is_healed_by_a_trace_and_not_by_an_empty_answer(pull: Pull) -> None:
    async with running(JaegerDouble(instead={"/api/v3/traces": (503, "down")})) as platform:
        failed = await pull(platform)
        platform.instead.clear()
        still = await pull(platform, failed)
        assert still.failure is not None
        assert not any(isinstance(score, Measured) for score in steps(still))
        platform.put(resource_spans(AGENT_RUN, service_name="agent", evaltower_run__id=RUN))
        healed = await pull(platform, still)
    assert healed.failure is None
    assert [score.value for score in steps(healed) if isinstance(score, Measured)] == [2.0]


@pytest.mark.case(10)
@pytest.mark.parametrize("now", [(503, "down"), None], ids=["fails again", "finds nothing"])
async def test_what_waited_for_a_trace_is_graded_once_that_is_to_be_done_without(
    pull: Pull, folder: Path, now: tuple[int, str] | None
) -> None:
    async with running(JaegerDouble(instead={"/api/v3/traces": (503, "down")})) as platform:
        failed = await pull(platform)
        platform.instead = {"/api/v3/traces": now} if now else {}
        row = await pull(platform, failed, on_pull_error="degrade")
    assert row.failure is None
    errors = [event["message"] for event in read_events(folder) if event["kind"] == "error"]
    assert [("HTTP 503: down" if now else f"no trace of {RUN}") in message for message in errors] == [True]
    assert [score.value for score in steps(row) if isinstance(score, Measured)] == [1.0]


@pytest.mark.case(11)
@pytest.mark.parametrize("first", [(503, "down"), None], ids=["failed", "found nothing"])
async def test_a_trace_that_was_done_without_is_asked_for_when_the_episode_is_scored_again(
    pull: Pull, folder: Path, first: tuple[int, str] | None
) -> None:
    async with running(JaegerDouble(instead={"/api/v3/traces": first} if first else {})) as platform:
        without = await pull(platform, on_pull_error="degrade")
        (collect_stage,) = (stage for stage in without.stages if stage.name == "collect")
        assert ("HTTP 503" if first else f"has no trace of {RUN}") in (collect_stage.error or "")
        platform.instead.clear()
        platform.put(resource_spans(AGENT_RUN, service_name="agent", evaltower_run__id=RUN))
        row = await pull(platform, without, on_pull_error="degrade")
    assert [score.value for score in steps(row) if isinstance(score, Measured)] == [2.0]
    assert not [event for event in read_events(folder) if event["kind"] == "error"]
    assert [stage.error for stage in row.stages if stage.name == "collect"] == [None]


@pytest.mark.case(12)
@pytest.mark.parametrize("on_pull_error", ["defer", "degrade"])
async def test_a_secret_that_is_not_there_is_told_by_name_and_nothing_is_fetched(
    pull: Pull, folder: Path, on_pull_error: str
) -> None:
    async with running(jaeger()) as platform:
        row = await pull(platform, auth_secret="TRACES", on_pull_error=on_pull_error)
    assert platform.asked == []
    told = (
        [row.failure["message"]]
        if row.failure
        else [e["message"] for e in read_events(folder) if "message" in e]
    )
    assert ["'TRACES'" in message for message in told] == [True]


@pytest.mark.case(13)
@pytest.mark.parametrize(("collected_by", "told"), [("job", []), ("control-plane", [RUN])])
async def test_an_empty_answer_is_accepted_in_the_run_and_an_event_in_the_backend(
    pull: Pull, folder: Path, collected_by: str, told: list[str]
) -> None:
    async with running(JaegerDouble()) as platform:
        row = await pull(platform, collect=collected_by)
    assert platform.paths == ["/api/v3/traces"] * 3
    errors = [event["message"] for event in read_events(folder) if event["kind"] == "error"]
    assert [RUN in message for message in errors] == [True for _ in told]
    assert [score.value for score in steps(row) if isinstance(score, Measured)] == [1.0]


@pytest.mark.case(14)
async def test_an_episode_without_a_trace_elsewhere_is_graded_on_its_own(pull: Pull, folder: Path) -> None:
    row = await pull(None)
    assert (row.failure, row.trace_ref) == (None, None)
    assert [event["name"] for event in read_events(folder)] == ["own"]
    assert [score.value for score in steps(row) if isinstance(score, Measured)] == [1.0]


@pytest.mark.case(14)
async def test_a_kind_that_nobody_can_fetch_is_told(pull: Pull) -> None:
    row = await pull(None, kind="otel")
    assert row.failure is not None
    assert row.failure["message"] == "there is nothing to fetch the trace from"
