"""However a run ends, what finished is whole on disk and nothing of it stays alive."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from pathlib import Path

import pytest

from engine.control.checking import open_catalog
from engine.store.jsonl import read_lines
from engine.store.offers import last_offer
from engine.store.rundir import RunDir
from engine.store.runs import read_rows, view_run
from tests.evaluation.run_checks import assert_all_gone, assert_nothing_torn, processes_of, until
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import RUN_DEADLINE_SEC, ask_to_end, finished, make_root, started

GRAPH = env_graph("env_faulty")
SLOW = {"fault": "late", "at": 5, "late_sec": 0.5}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


def is_hanging(run: RunDir) -> bool:
    progress = run.read_progress()
    worker = progress.workers[0] if progress is not None and progress.workers else None
    return worker is not None and (worker.episode_index, worker.step, worker.node) == (2, 1, "step")


def test_a_cancelled_run_records_what_it_was_playing(root: Path) -> None:
    selectors = {"fault": "hang_step", "at": 2}
    with started(root, GRAPH, episode_count=6, selectors=selectors, per_step_budget_sec=60) as (run, process):
        until(lambda: is_hanging(run), process)
        assert len(processes_of(run)) == 2  # the run, and its environment
        ask_to_end(run)
        process.send_signal(signal.SIGTERM)
        assert process.wait(RUN_DEADLINE_SEC) == 1
        summary = run.read_summary()
        assert summary.status == "cancelled"
        assert [(row.episode_index, row.status) for row in summary.episodes] == [
            (0, "completed"),
            (1, "completed"),
            (2, "cancelled"),
        ]
        assert run.is_done()
        assert_nothing_torn(run)
        assert_all_gone(run)


@pytest.mark.slow
def test_a_run_that_is_ended_with_a_reason_is_an_error(root: Path) -> None:
    with started(root, GRAPH, episode_count=20, worker_count=2, selectors=SLOW) as (run, process):
        until(lambda: read_rows(run), process)
        ask_to_end(run, stop_reason="its time limit of 1 h was reached")
        process.send_signal(signal.SIGTERM)
        assert process.wait(RUN_DEADLINE_SEC) == 1
        head = view_run(run).head
        assert (head.status, head.error) == ("error", "its time limit of 1 h was reached")
        assert run.is_done()
        assert_nothing_torn(run)
        assert_all_gone(run)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_run_that_nobody_asked_to_end_is_aborted_and_can_go_on(root: Path, number: signal.Signals) -> None:
    with started(root, GRAPH, episode_count=20, worker_count=2, selectors=SLOW) as (run, process):
        until(lambda: read_rows(run), process)
        process.send_signal(number)
        assert process.wait(RUN_DEADLINE_SEC) == 1
        head = view_run(run).head
        assert head.status == "aborted"
        assert f"`evaltower resume {run.run_id}` plays the rest" in str(head.error)
        assert not run.is_done()
        assert {row.status for row in read_rows(run)} == {"completed", "cancelled"}
        assert_nothing_torn(run)
        assert_all_gone(run)


@pytest.mark.slow
def test_a_run_that_outlives_its_time_limit_ends_with_what_it_has(root: Path) -> None:
    selectors = {"fault": "hang_step", "at": 1}
    run = finished(root, GRAPH, episode_count=3, selectors=selectors, per_step_budget_sec=60, timeout_sec=8.0)
    summary = run.read_summary()
    assert (summary.status, summary.error) == ("error", "the run's time limit of 8 s was reached")
    assert summary.episodes[0].status == "completed"
    assert_all_gone(run)


def test_a_finished_run_leaves_nothing_behind(root: Path) -> None:
    run = finished(root, GRAPH, episode_count=3, worker_count=2)
    assert run.read_summary().status == "completed"
    assert_nothing_torn(run)
    assert_all_gone(run)


def kill_at(root: Path, moment: float) -> None:
    with started(root, GRAPH, episode_count=40, worker_count=2) as (run, process):
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
        process.wait(RUN_DEADLINE_SEC)
        assert_all_gone(run)
        assert_nothing_torn(run)
        expected = "completed" if run.is_done() else "aborted"
        assert view_run(run).status == expected
        counted = json.loads(run.summary.read_bytes())["completed_count"]
        assert counted <= len(read_rows(run))


def moments(count: int) -> list[float]:
    rng = random.Random(20261129)
    return [round(rng.uniform(0.3, 4.0), 3) for _ in range(count)]


@pytest.mark.parametrize("moment", moments(2))
def test_sigkill_tears_nothing(root: Path, moment: float) -> None:
    kill_at(root, moment)


@pytest.mark.slow
@pytest.mark.parametrize("moment", moments(50)[4:])
def test_sigkill_tears_nothing_at_any_moment(root: Path, moment: float) -> None:
    kill_at(root, moment)


@pytest.mark.slow
def test_two_tasks_with_one_index_keep_their_own_folders(root: Path) -> None:
    run = finished(
        root,
        GRAPH,
        episode_indices=[3, 3],
        episode_selectors=[{"task_id": "pick"}, {"task_id": "../place"}],
    )
    names = sorted(path.name for path in run.episodes.iterdir())
    assert names[0] == "ep0003"
    assert names[1].startswith("ep0003_")
    assert run.read_summary().aggregate_by_task.keys() == {"pick", "../place"}
    for name in names:
        assert len(list(read_lines(run.episodes / name / "log.jsonl"))) > 0


@pytest.mark.slow
def test_all_is_what_the_environment_has(root: Path) -> None:
    run = finished(root, GRAPH, episode_count=-1, start_episode_index=90, worker_count=3)
    summary = run.read_summary()
    assert (summary.total_episodes, summary.completed_count) == (10, 10)
    assert summary.config.split == "all"


@pytest.mark.slow
def test_an_episode_beyond_the_environment_refuses_the_run(root: Path) -> None:
    run = finished(root, GRAPH, episode_indices=[5, 500])
    summary = run.read_summary()
    assert summary.status == "error"
    assert "episode 500 is beyond the environment's 100" in (summary.error or "")
    assert "--episodes" in (summary.error or "")
    assert run.is_done()
    env = open_catalog(root).nodesets["env_faulty"]
    assert (offer := last_offer(env)) is not None  # for the next request
    assert offer.counts == {"all": 100}


@pytest.mark.slow
def test_a_split_that_is_not_there_names_the_option(root: Path) -> None:
    error = finished(root, GRAPH, split="zzz").read_summary().error or ""
    assert error.startswith("split: there is no split 'zzz'; the environment has all")
    assert "--split" in error
