"""Runs that have ended are scored again by a live backend, in processes of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.control.reports import ConflictError, RefusedError, StartRequest, StillAliveError
from engine.control.scoring import NOT_SCORED
from engine.store.atomic import write_json
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir, runs_folder
from engine.store.runs import view_run
from tests.control.waiting import wait_for, wait_until_over
from tests.fakes.chat_server import ChatServer, chat_server, fails, hangs
from tests.fakes.finished_runs import fake_row, make_run
from tests.fakes.live_backend import LiveControl, live
from tests.fakes.platforms.double import Double, running
from tests.fakes.platforms.jaeger import JaegerDouble
from tests.fakes.scored_runs import GRAPH, JUDGED, STEPS, all_values, scored_root, verdict


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(answer=lambda body: verdict()) as running:
        yield running


@pytest.fixture
def graded(tmp_path: Path, server: ChatServer, cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root whose runs are real ones, of the graph ``graded``."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    root = scored_root(tmp_path / "graded", server)
    (root / "workspace" / "graphs").mkdir()
    (root / "workspace" / "graphs" / "graded.json").write_text(json.dumps(GRAPH))
    return root


def request(root: Path, scoring: dict[str, Any], **more: Any) -> StartRequest:
    selectors = {"journal": str(root / "journal.jsonl")}
    return StartRequest(
        graph_name="graded", episode_count=2, selectors=selectors, scoring=scoring, marginal_vram_mb=0, **more
    )


def folder(root: Path, run: str) -> RunDir:
    return RunDir(runs_folder(root) / run)


def wait_until_let_go(control: LiveControl, run: str) -> None:
    """Until it is over, and its processes are gone."""
    wait_until_over(control, run)
    wait_for(lambda: not control.live.is_ours(run), f"the end of {run}")


@pytest.mark.slow
def test_a_run_is_scored_again_beside_others(graded: Path, server: ChatServer) -> None:
    server.acts.extend([fails(500)] * 2)
    with live(graded) as control:
        run = control.start(request(graded, JUDGED))
        wait_until_let_go(control, run)
        before = control.show(run).summary
        assert {row["judge:quality"] for row in all_values(folder(graded, run))} == {"grader_error"}
        control.pause()
        control.rescore(run)
        with pytest.raises(StillAliveError):
            control.rescore(run)
        assert control.show(run).status == "pending"
        assert [(queued.kind, queued.worker_count) for queued in control.queue().queued] == [("score", 1)]
        control.unpause()
        wait_until_let_go(control, run)
        after = control.show(run).summary
        assert (after.status, after.finished_at, after.result_digest) == (
            before.status,
            before.finished_at,
            before.result_digest,
        )
        assert after.aggregate_metrics["judge:quality"] == 0.75
        assert folder(graded, run).read_job().kind == "score"
        assert control.scoring(run).pending == 0
        with pytest.raises(ConflictError, match="every episode has its row"):
            control.resume(run)


@pytest.mark.slow
def test_cancelled_before_it_began_or_while_it_judges_it_stands_as_it_had_ended(
    graded: Path, server: ChatServer
) -> None:
    server.acts.extend([fails(500)] * 2)
    with live(graded) as control:
        run = control.start(request(graded, JUDGED))
        wait_until_let_go(control, run)
        before = control.show(run).summary
        control.pause()
        control.rescore(run)
        assert control.cancel(run).status == "cancelled"
        assert (control.show(run).status, control.show(run).summary) == ("completed", before)
        control.unpause()
        server.acts.extend([hangs, hangs])
        asked = len(server.asked)
        control.rescore(run)
        wait_for(lambda: len(server.asked) > asked, "the judge")
        assert control.cancel(run, 0.0).status == "cancelling"
        wait_until_let_go(control, run)
        assert control.show(run).summary.finished_at == before.finished_at
        assert (control.show(run).status, folder(graded, run).is_done()) == ("completed", True)
        control.rescore(run)
        wait_until_let_go(control, run)
        assert [row["judge:quality"] for row in all_values(folder(graded, run))] == [0.75, 0.75]


def test_what_cannot_be_scored_so_is_refused_and_nothing_is_changed(control: LiveControl) -> None:
    run = make_run(control.root, rows=[fake_row(0), fake_row(1)])
    before = {path: path.read_bytes() for path in (run.spec, run.job, run.summary, run.done)}
    with pytest.raises(ConflictError, match="--scoring FILE"):
        control.rescore(run.run_id)
    with pytest.raises(ConflictError, match="no grader, judge, trace or export is asked for"):
        control.rescore(run.run_id, dict(NOT_SCORED))
    with pytest.raises(RefusedError) as refused:
        control.rescore(run.run_id, {"graders": [{"id": "stepps"}], "judges": [{"id": "j"}]})
    assert {problem.where for problem in refused.value.problems} == {
        "scoring.graders[0].id",
        "scoring.judges[0].profile",
    }
    assert {path: path.read_bytes() for path in before} == before
    empty = make_run(control.root, rows=[])
    with pytest.raises(ConflictError, match="no finished episode"):
        control.rescore(empty.run_id, {"graders": [{"id": "steps"}]})


def test_a_grader_whose_environment_is_gone_cannot_be_asked_otherwise_under_its_name(
    control: LiveControl,
) -> None:
    run = make_run(control.root)
    spec = run.read_spec()
    spec.scoring = {"graders": [{"id": "tests-pass", "config": {"cmd": "make test"}}]}
    write_json(run.spec, spec)
    with pytest.raises(RefusedError, match="needs the episodes' environment, which is gone"):
        control.rescore(run.run_id, {"graders": [{"id": "tests-pass", "config": {"cmd": "true"}}]})
    assert run.read_spec().scoring == spec.scoring


@pytest.mark.slow
def test_a_backend_that_dies_leaves_it_queued_to_be_scored(graded: Path, server: ChatServer) -> None:
    with live(graded, leave=True) as control:
        run = control.start(request(graded, {"graders": [STEPS]}))
        wait_until_let_go(control, run)
        control.pause()
        control.rescore(run, JUDGED)
    (graded / "outputs" / "system" / "queue.json").unlink()
    assert view_run(folder(graded, run)).status == "pending"
    with live(graded) as control:
        wait_until_let_go(control, run)
        assert control.show(run).status == "completed"
        assert [row["judge:quality"] for row in all_values(folder(graded, run))] == [0.75, 0.75]


@pytest.mark.slow
async def test_an_export_that_failed_is_tried_again_and_the_secret_of_its_platform_is_nowhere(
    graded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "s3cr3t-0123456789-abcdefghij"
    monkeypatch.setenv("EVALTOWER_SECRET_INGEST", secret)
    async with running(Double(lets_in=("Authorization", "another"))) as platform:  # tells what it was sent
        sink = {"name": "ours", "kind": "otlp", "endpoint": platform.url, "auth_secret": "INGEST"}
        with live(graded) as control:
            asked = request(graded, {"graders": [STEPS], "sinks": [sink]})
            run = await asyncio.to_thread(control.start, asked)
            await asyncio.to_thread(wait_until_let_go, control, run)
            sent = len(platform.asked)
            assert sent >= 2
            assert any(secret in told.headers["Authorization"] for told in platform.asked)
            await asyncio.to_thread(control.rescore, run)
            await asyncio.to_thread(wait_until_let_go, control, run)
            assert len(platform.asked) == 2 * sent
            (report,) = control.scoring(run).sinks
            assert (report.status, len(report.cases)) == ("failed", 2)
            assert "401" in report.message
        for path in (graded / "outputs").rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes(), path


def spans(run: str, episode: int) -> dict[str, Any]:
    """What a harness exported: one call of a tool."""
    trace = f"{episode + 1:032x}"
    attributes = {"service.name": "agent", "evaltower.run_id": f"{run}/ep{episode:04d}"}
    span = {
        "traceId": trace,
        "spanId": trace[:16],
        "name": "execute_tool",
        "startTimeUnixNano": "1000000000",
        "endTimeUnixNano": "2000000000",
        "attributes": [{"key": "gen_ai.tool.name", "value": {"stringValue": "bash"}}],
    }
    told = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    return {"resource": {"attributes": told}, "scopeSpans": [{"spans": [span]}]}


def scorings(root: Path, run: str) -> list[str]:
    rows: list[EpisodeRow] = folder(root, run).read_summary().episodes
    return [row.scoring for row in rows]


@pytest.mark.slow
async def test_traces_that_are_left_to_the_backend_are_fetched_and_graded_as_soon_as_the_run_has_ended(
    graded: Path,
) -> None:
    async with running(JaegerDouble()) as jaeger:
        trace = {
            "kind": "otel",
            "endpoint": jaeger.url,
            "collect": "control-plane",
            "correlate": "tag",
            "service": "agent",
        }
        with live(graded) as control:
            run = await asyncio.to_thread(control.start, request(graded, {**JUDGED, "trace": trace}))
            jaeger.put([spans(run, 0), spans(run, 1)])
            await asyncio.to_thread(wait_for, lambda: control.scoring(run).in_backend, "the first episode")
            await asyncio.to_thread(
                wait_for, lambda: scorings(graded, run) == ["final", "final"], "the scores"
            )
            await asyncio.to_thread(wait_until_let_go, control, run)
            rows = control.episodes(run)
            assert [row.trace_ref["run_id"] for row in rows if row.trace_ref] == [
                f"{run}/ep0000",
                f"{run}/ep0001",
            ]
            values = {"tests_pass": 1.0, "tool_calls": 1.0, "judge:quality": 0.75}
            assert all_values(folder(graded, run)) == [values, values]
            assert folder(graded, run).read_job().attempt == 2
            assert not control.scoring(run).in_backend
            assert control.show(run).status == "completed"
