"""A run that was killed goes on, as often as it takes, and comes to what it would have come to."""

from __future__ import annotations

import random
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy
import pytest

from engine.evaluation.resuming import reopened_summary
from engine.store.atomic import write_json
from engine.store.jsonl import read_records
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from engine.store.runs import read_rows, view_run
from tests.evaluation.run_checks import (
    assert_all_gone,
    assert_counted_once,
    assert_nothing_torn,
    last_words,
    rows_written,
    until,
)
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import (
    RUN_DEADLINE_SEC,
    attempt,
    finished,
    make_root,
    resumed,
    started,
    write_run,
)

DIARY = env_graph("env_diary")
COIN = env_graph("env_coin")
FAULTY = env_graph("env_faulty")
PAUSE = {"pause": 0.005}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


def killed_after(run: RunDir, rows: int, moment: float = 0.0) -> None:
    """One attempt that is SIGKILLed ``moment`` seconds after the run has so many rows."""
    with attempt(run) as process:
        until(lambda: rows_written(run) >= rows or process.poll() is not None)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
        process.wait(RUN_DEADLINE_SEC)
    assert_all_gone(run)


def digest(run: RunDir) -> str | None:
    return view_run(run).head.result_digest


def assert_recorded_once(run: RunDir) -> None:
    """No row was replaced: what had its row was not recorded again."""
    rows = list(read_records(run.episode_rows, EpisodeRow))
    assert len(rows) == len({row.identity for row in rows})


def test_versions_that_changed_before_it_went_on_stay_on_record(root: Path) -> None:
    run = write_run(root, DIARY, episode_count=4, selectors=PAUSE)
    killed_after(run, 1)
    before = run.read_environment()
    before.nodesets[0].versions["numpy"] = "0.1"
    write_json(run.environment, before)
    resumed(run)
    now, earlier = run.read_environment().nodesets
    assert (now.name, earlier) == (earlier.name, before.nodesets[0])
    assert now.versions["numpy"] == numpy.__version__


@pytest.mark.slow
def test_at_every_boundary_and_inside_of_groups_that_remember(root: Path) -> None:
    request: dict[str, Any] = {"episode_count": 11, "worker_count": 2, "seed": 3, "selectors": PAUSE}
    whole = finished(root, DIARY, **request)
    assert_counted_once(whole, 11)
    run = write_run(root, DIARY, **request)
    for rows in (1, 6):
        killed_after(run, rows)
    resumed(run)
    assert_counted_once(run, 11, attempts=3)
    assert_recorded_once(run)
    assert digest(run) == digest(whole)
    assert "are played again, as the next ones may depend on them" in last_words(run)
    assert "went another way" not in last_words(run)
    assert not list(run.path.glob("attempts/3/replayed/*"))


def kill_at_random(root: Path, graph: dict[str, Any], **request: Any) -> tuple[RunDir, int]:
    """A run that is killed at random moments until one of its attempts gets through; how many it took."""
    chance = random.Random(request["seed"])
    run = write_run(root, graph, **request)
    attempts = 0
    while not run.is_done():
        attempts += 1
        before = rows_written(run)
        killed_after(run, before + chance.choice((0, 1, 2, 5)), chance.uniform(0.0, 0.8))
        if attempts > 8:
            resumed(run)
            attempts += 1
    return run, attempts


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("graph", "request_"),
    [
        (DIARY, {"worker_count": 3, "selectors": PAUSE}),
        (COIN, {"worker_count": 2}),
    ],
    ids=["remembers", "coin"],
)
def test_killed_at_any_moment(root: Path, graph: dict[str, Any], request_: dict[str, Any], seed: int) -> None:
    whole = finished(root, graph, episode_count=22, seed=seed, **request_ | {"worker_count": 1})
    run, attempts = kill_at_random(root, graph, episode_count=22, seed=seed, **request_)
    assert_counted_once(run, 22, attempts=attempts)
    assert digest(run) == digest(whole)


@pytest.mark.slow
def test_repeats_and_selectors_of_their_own(root: Path) -> None:
    request: dict[str, Any] = {
        "episode_indices": [4, 4, 9],
        "episode_selectors": [{"task_id": "a"}, {"task_id": "b"}, {"pause": 0.01}],
        "repeats": 3,
        "worker_count": 2,
    }
    whole = finished(root, DIARY, **request)
    run = write_run(root, DIARY, **request)
    for rows in (2, 5):
        killed_after(run, rows)
    resumed(run)
    assert digest(run) == digest(whole)
    assert_recorded_once(run)
    assert [row.identity for row in read_rows(run)] == [row.identity for row in read_rows(whole)]
    assert run.read_summary().completed_count == 9
    assert_nothing_torn(run)


@pytest.mark.slow
def test_a_run_that_ends_early_ends_at_the_same_episode(root: Path) -> None:
    request: dict[str, Any] = {"episode_count": 400, "worker_count": 3, "until_width": 0.3}
    whole = finished(root, COIN, **request)
    run = write_run(root, COIN, **request)
    killed_after(run, 20)
    resumed(run)
    assert digest(run) == digest(whole)
    head, expected = view_run(run).head, view_run(whole).head
    assert (head.status, head.total_episodes) == ("completed", expected.total_episodes)
    assert run.read_summary().episodes == read_rows(run)
    last = {row.identity: row for row in read_records(run.episode_rows, EpisodeRow)}
    assert head.early_stop is not None
    assert sum(row.beyond_stop for row in last.values()) == head.early_stop.beyond


@pytest.mark.slow
def test_what_the_box_failed_is_played_again_only_when_asked(root: Path, tmp_path: Path) -> None:
    selectors = {"fault": "kill_once", "at": 1, "marker": str(tmp_path / "struck")}
    run = finished(root, FAULTY, episode_count=3, selectors=selectors)
    first = run.read_summary()
    assert [row.error_class for row in first.episodes] == [None, "infra", None]
    resumed(run)
    assert run.read_summary().episodes == first.episodes
    resumed(run, rerun_errors=True)
    last = run.read_summary()
    assert [row.status for row in last.episodes] == ["completed"] * 3
    assert (last.episodes[0], last.episodes[2]) == (first.episodes[0], first.episodes[2])
    assert last.error_count == 0
    assert_counted_once(run, 3, attempts=3)


def test_a_crash_and_a_retry_in_a_group_that_remembers_change_nothing(root: Path, tmp_path: Path) -> None:
    request: dict[str, Any] = {"episode_count": 8, "retries": 1}
    whole = finished(root, DIARY, **request)
    struck = finished(root, DIARY, **request, selectors={"marker": str(tmp_path / "struck"), "at": 2})
    assert (tmp_path / "struck").exists()
    pasts = [[row.metrics["past"] for row in read_rows(run)] for run in (whole, struck)]
    assert pasts[0] == pasts[1] == [1, 2, 3, 4] * 2
    digests = [[row.trajectory_digest for row in read_rows(run)] for run in (whole, struck)]
    assert digests[0] == digests[1]


@pytest.mark.slow
def test_the_times_of_a_run_are_those_of_all_its_attempts(root: Path) -> None:
    with started(root, FAULTY, episode_count=4, selectors={"fault": "late", "at": 2, "late_sec": 1.0}) as (
        run,
        process,
    ):
        until(lambda: len(read_rows(run)) == 2, process)
        process.send_signal(signal.SIGTERM)
        process.wait(RUN_DEADLINE_SEC)
    first = run.read_summary()
    assert (first.status, [row.status for row in first.episodes][:2]) == ("aborted", ["completed"] * 2)
    resumed(run)
    last = run.read_summary()
    assert (last.status, last.started_at, last.error) == ("completed", first.started_at, None)
    assert last.elapsed_sec >= first.elapsed_sec + 1.0
    assert last.finished_at is not None
    assert first.finished_at is not None
    assert last.finished_at > first.finished_at
    assert_counted_once(run, 4, attempts=2)
    assert (run.attempt(1) / "hosts").is_dir()
    assert (run.attempt(2) / "hosts").is_dir()


@pytest.mark.slow
def test_what_cannot_be_read_is_made_anew_and_a_torn_row_costs_itself(root: Path) -> None:
    run = write_run(root, COIN, episode_count=6, worker_count=2)
    killed_after(run, 3)
    run.summary.write_bytes(b"{")
    run.progress.write_bytes(b"")
    with open(run.episode_rows, "ab") as rows:
        rows.write(b'{"episode_index": 5, "sta')
    left = run.path / ".summary.json.1.2.tmp"
    left.write_bytes(b"{")
    resumed(run)
    assert_counted_once(run, 6, attempts=2)
    assert run.read_summary().config.env_nodeset == "env_coin"
    assert not left.exists()


@pytest.mark.parametrize("broken", [b"", b"{", b'{"status": 7}', b"\xff", None])
def test_a_summary_that_cannot_be_read_is_made_of_the_spec(root: Path, broken: bytes | None) -> None:
    run = write_run(root, COIN, episode_count=6, seed=4)
    before = run.read_summary()
    run.summary.unlink()
    if broken is not None:
        run.summary.write_bytes(broken)
    made = reopened_summary(run, run.read_spec())
    assert (made.status, made.config, made.created_at) == ("running", before.config, before.created_at)


@pytest.mark.slow
def test_what_is_finished_counts_while_the_hosts_of_a_resume_start_and_when_they_cannot(root: Path) -> None:
    run = write_run(root, COIN, episode_count=40, worker_count=1)
    killed_after(run, 5)
    (root / "workspace" / "nodesets").unlink()
    broken = root / "workspace" / "nodesets"
    broken.mkdir()
    slow = "import pathlib, time\nwhile not pathlib.Path(GATE).exists(): time.sleep(0.02)\nraise OSError\n"
    gate = root / "gate"
    (broken / "env_coin.py").write_text(slow.replace("GATE", repr(str(gate))))
    rows = len(read_rows(run))
    with attempt(run) as process:
        until(lambda: run.read_progress().activity != "" and view_run(run).status == "running")
        shown = view_run(run).head
        assert (shown.completed_count, shown.total_episodes) == (rows, 40)
        assert shown.metric_stats["success"].n == rows
        gate.touch()
        process.wait(RUN_DEADLINE_SEC)
    ended = run.read_summary()
    assert (ended.status, ended.completed_count, len(ended.episodes)) == ("error", rows, rows)
    assert ended.aggregate_metrics == shown.aggregate_metrics


def test_a_spec_that_cannot_be_read_is_said_and_harms_nothing(root: Path) -> None:
    run = write_run(root, COIN, episode_count=2)
    before = run.summary.read_bytes()
    run.spec.write_bytes(b"{")
    with attempt(run) as process:
        assert process.wait(RUN_DEADLINE_SEC) == 2
    assert f"{run.spec} cannot be read" in last_words(run)
    assert run.summary.read_bytes() == before
