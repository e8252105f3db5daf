"""A run that has ended is scored again by a process of its own: nothing is played."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.control.rescoring import reopen_to_score
from engine.store.rundir import RunDir
from engine.store.runs import read_rows, view_run
from engine.store.scores import ModelUse
from tests.control.waiting import wait_for
from tests.fakes.chat_server import ChatServer, Handler, chat_server, fails, hangs, says
from tests.fakes.real_runs import RUN_DEADLINE_SEC, ask_to_end, attempt
from tests.fakes.scored_runs import (
    JUDGE,
    JUDGED,
    STEPS,
    TESTS,
    all_values,
    journal,
    played,
    rescored,
    scored_root,
    settle,
    verdict,
)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(answer=lambda body: verdict()) as running:
        yield running


@pytest.fixture
def root(tmp_path: Path, server: ChatServer) -> Path:
    return scored_root(tmp_path, server)


@pytest.fixture(scope="module")
def played_once(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    """A run whose judge could not be asked."""
    with chat_server() as server:
        server.acts.extend([fails(500)] * 2)
        run = played(scored_root(tmp_path_factory.mktemp("played"), server), JUDGED)
    assert (
        all_values(run)
        == [{"tests_pass": 1.0, "tool_calls": "missing_evidence", "judge:quality": "grader_error"}] * 2
    )
    return run


@pytest.fixture
def run(played_once: RunDir, tmp_path: Path, server: ChatServer) -> RunDir:
    """The same, of this test alone, with a judge that can be asked."""
    root = tmp_path / "root"
    shutil.copytree(played_once.root, root, symlinks=True)
    settle(root, server)
    return RunDir(root / played_once.path.relative_to(played_once.root))


@pytest.mark.slow
def test_what_a_judge_could_not_say_is_said_without_playing_anything(run: RunDir) -> None:
    done, summary = journal(run), run.read_summary()
    progress, tally = run.read_progress(), summary.scored
    assert progress is not None
    assert tally is not None
    assert progress.scored == tally
    assert (tally.not_judged, tally.not_judged_for) == (2, {"grader_error": 2})
    assert "HTTP 500" in tally.not_judged_why
    assert (summary.status, summary.error) == ("completed", None), "no fault of ours"
    rescored(run)
    assert (
        all_values(run) == [{"tests_pass": 1.0, "tool_calls": "missing_evidence", "judge:quality": 0.75}] * 2
    )
    assert journal(run) == done
    after = run.read_summary()
    assert (after.status, after.error, after.finished_at, after.elapsed_sec, after.result_digest) == (
        summary.status,
        summary.error,
        summary.finished_at,
        summary.elapsed_sec,
        summary.result_digest,
    )
    assert after.aggregate_metrics["judge:quality"] == 0.75
    assert after.scored is not None
    assert (after.scored.not_judged, after.scored.judges_used) == (
        0,
        ModelUse(asked=2, prompt_tokens=20, completion_tokens=4, unpriced=2),
    )
    assert "judge:quality" not in summary.aggregate_metrics
    assert run.is_done()
    assert {row.scoring for row in read_rows(run)} == {"final"}


@pytest.mark.slow
def test_it_is_scored_as_it_says_now_as_far_as_that_goes_without_the_environment(run: RunDir) -> None:
    also = {"id": "tests-pass", "config": {"id": "again", "metric": "again", "cmd": "true"}}
    now = {"graders": [STEPS, TESTS, also], "judges": [{"id": "style", "prompt": "How is it?"}]}
    rescored(run, now)
    for row in read_rows(run):
        assert [(score.grader_id, getattr(score, "value", None)) for score in row.scores] == [
            ("steps", None),
            ("tests-pass", 1.0),
            ("again", None),
            ("judge:style", 0.75),
        ]
        assert (row.scores[2].reason, row.verdict, row.failure) == ("missing_evidence", True, None)
        assert [stage.name for stage in row.stages if stage.name.startswith("judge:")] == ["judge:style"]
    assert run.read_spec().scoring == now


@pytest.mark.slow
def test_a_run_that_was_not_scored_is(root: Path) -> None:
    run = played(root, {})
    rescored(run, JUDGED)
    assert (
        all_values(run)
        == [{"tests_pass": "missing_evidence", "tool_calls": "missing_evidence", "judge:quality": 0.75}] * 2
    )


@pytest.mark.slow
def test_killed_it_is_as_it_was_and_can_be_scored_again(run: RunDir, server: ChatServer) -> None:
    before, rows = run.read_summary(), all_values(run)
    server.acts.extend([hangs, hangs])
    reopen_to_score(run.root, run, None)
    asked = len(server.asked)
    with attempt(run) as process:
        wait_for(lambda: len(server.asked) == asked + 2, "the judge, about both episodes")
        process.kill()
        process.wait(RUN_DEADLINE_SEC)
    view = view_run(run)
    assert not run.is_done()
    assert (view.status, view.head.error, view.head.finished_at) == ("completed", None, before.finished_at)
    assert view.head.aggregate_metrics == before.aggregate_metrics
    assert all_values(run) == rows
    rescored(run)
    assert [row["judge:quality"] for row in all_values(run)] == [0.75, 0.75]
    assert run.read_summary().finished_at == before.finished_at
    assert view_run(run).status == "completed"


def test_told_to_end_it_records_what_was_launched_and_launches_nothing_more(
    run: RunDir, server: ChatServer
) -> None:
    reopen_to_score(run.root, run, {**JUDGED, "concurrency": {"judges": 1}})
    asked = len(server.asked)
    told: list[subprocess.Popen[bytes]] = []

    def ends_it(handler: Handler, body: dict[str, Any]) -> None:
        wait_for(lambda: bool(told), "the process")
        ask_to_end(run)
        told[0].send_signal(signal.SIGTERM)
        says()(handler, body)

    server.acts.append(ends_it)
    with attempt(run) as process:
        told.append(process)
        assert process.wait(RUN_DEADLINE_SEC) == 1
    assert run.is_done()
    assert view_run(run).status == "completed"
    assert len(server.asked) == asked + 1
    judged = sorted(str(row["judge:quality"]) for row in all_values(run))
    assert judged == ["0.75", "grader_error"]
    assert sorted(row.scoring for row in read_rows(run)) == ["final", "pending"]


def test_what_keeps_it_from_being_scored_leaves_it_as_it_was(run: RunDir) -> None:
    rows, before = all_values(run), run.read_summary()
    reopen_to_score(run.root, run, None)
    (run.root / "evaltower.toml").write_text("[profiles")
    with attempt(run) as process:
        assert process.wait(RUN_DEADLINE_SEC) == 1
    assert (all_values(run), run.read_summary().status) == (rows, before.status)
    assert run.is_done()
    assert "evaltower.toml" in (run.path / "stderr.log").read_text()


@pytest.mark.slow
def test_a_judge_is_asked_again_and_the_same_question_has_the_same_answer(
    root: Path, server: ChatServer
) -> None:
    run = played(root, {"judges": [JUDGE]})
    asked, rows = len(server.asked), all_values(run)
    rescored(run)
    assert all_values(run) == rows
    assert len(server.asked) == asked  # the run's own cache knows it
    rescored(run, {"judges": [{**JUDGE, "prompt": "Is it clean?"}]})
    assert len(server.asked) == asked + 2
