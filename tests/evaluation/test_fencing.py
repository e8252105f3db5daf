"""An attempt that lost its run, in real processes: it writes nothing more, and ends all that it started."""

from __future__ import annotations

import random
import signal
import subprocess
from pathlib import Path

import pytest

from engine.store.runs import read_rows
from tests.evaluation.run_checks import (
    assert_all_gone,
    assert_counted_once,
    content,
    rows_written,
    until,
)
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import RUN_DEADLINE_SEC, attempt, make_root, next_attempt, spawn, write_run

GRAPH = env_graph("env_diary")
EPISODES = 24


def stop_replace_and_wake(root: Path, rows: int, moment: float) -> None:
    run = write_run(root, GRAPH, episode_count=EPISODES, worker_count=2, selectors={"pause": 0.005})
    with attempt(run) as old:
        first = run.read_job()
        until(lambda: rows_written(run) >= rows, old)
        with pytest.raises(subprocess.TimeoutExpired):
            old.wait(moment)
        old.send_signal(signal.SIGSTOP)
        with attempt(run) as new:
            assert new.wait(RUN_DEADLINE_SEC) == 0
        assert_counted_once(run, EPISODES, attempts=2)
        before = content(run)
        old.send_signal(signal.SIGCONT)
        assert old.wait(RUN_DEADLINE_SEC) == 1
        assert content(run) == before
        assert "attempt 2 has taken its place" in (run.attempt(1) / "stderr.log").read_text()
        late = spawn(run, first)  # a process of that attempt that comes only now
        assert late.wait(RUN_DEADLINE_SEC) == 1
        assert content(run) == before
    assert_all_gone(run)


@pytest.mark.slow
def test_an_old_attempt_that_wakes_up_writes_nothing(tmp_path: Path) -> None:
    stop_replace_and_wake(make_root(tmp_path), 5, 0.013)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_an_old_attempt_that_wakes_up_at_any_moment_writes_nothing(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    stop_replace_and_wake(make_root(tmp_path), chance.choice((0, 1, 4, 11)), chance.uniform(0.0, 0.6))


def test_an_old_attempt_beside_a_new_one_ends_within_seconds(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    graph = env_graph("env_faulty")
    hanging = {"fault": "hang_step", "at": 2}
    run = write_run(root, graph, episode_count=4, selectors=hanging, per_step_budget_sec=60)
    with attempt(run) as old:
        until(lambda: len(read_rows(run)) == 2, old)
        next_attempt(run)
        assert old.wait(20) == 1  # long before its step would have timed out
        assert run.read_summary().status == "running"
        assert len(read_rows(run)) == 2
        assert not run.is_done()
    assert_all_gone(run)
