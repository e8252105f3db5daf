"""A disk that is full, at any write point: the run ends with what it has, says what to do, and can go on."""

from __future__ import annotations

import json
import os
import random
import resource
from pathlib import Path
from typing import Any

import pytest

from engine.store.reserve import Reserve
from engine.store.rundir import RunDir
from engine.store.runs import read_rows, view_run
from tests.evaluation.run_checks import (
    assert_all_gone,
    assert_counted_once,
    assert_nothing_torn,
    content,
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
    write_run,
)
from tests.fakes.small_disk import fill, remount, small_disk

DIARY = env_graph("env_diary")
EPISODES = 16
REQUEST: dict[str, Any] = {"episode_count": EPISODES, "worker_count": 2}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the run on a disk with room."""
    run = finished(make_root(tmp_path_factory.mktemp("whole")), DIARY, **REQUEST)
    digest = run.read_summary().result_digest
    assert digest is not None
    return digest


def assert_ended_by_full_disk(run: RunDir) -> None:
    summary = run.read_summary()
    assert summary.status == "error"
    assert f"{run.root}/" in str(summary.error)
    assert f"make room on that disk, then `evaltower resume {run.run_id}`" in str(summary.error)
    assert run.is_done()
    assert run.done.read_bytes().endswith(b"\n")
    assert not Reserve(run.root).path.exists()
    assert summary.episodes == read_rows(run)
    assert {row.status for row in summary.episodes} <= {"completed", "cancelled"}
    assert_nothing_torn(run)
    assert_all_gone(run)
    assert not list(run.path.glob(".*.tmp"))


def run_with(place: Path, leave_kib: int, expected: str) -> None:
    with small_disk(place, 4096) as disk:
        root = make_root(disk)
        run = write_run(root, DIARY, **REQUEST)
        assert Reserve(root).ensure()
        with attempt(run) as process:  # its logs are there when the disk is full
            filled = fill(disk, leave_kib)
            process.wait(RUN_DEADLINE_SEC)
        if run.read_summary().status != "completed":
            assert_ended_by_full_disk(run)
        filled.unlink()
        resumed(run)
        assert_counted_once(run, EPISODES, attempts=2)
        assert run.read_summary().result_digest == expected
        assert Reserve(root).path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("leave_kib", [pytest.param(0, marks=pytest.mark.slow), 60])
def test_a_disk_that_fills_up(tmp_path: Path, expected: str, leave_kib: int) -> None:
    run_with(tmp_path / "disk", leave_kib, expected)


@pytest.mark.slow
@pytest.mark.parametrize("leave_kib", range(8, 260, 28))
def test_a_disk_that_fills_up_at_any_write(tmp_path: Path, expected: str, leave_kib: int) -> None:
    run_with(tmp_path / "disk", leave_kib, expected)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_disk_that_fills_up_at_any_moment(tmp_path: Path, expected: str, seed: int) -> None:
    chance = random.Random(seed)
    with small_disk(tmp_path / "disk", 4096) as disk:
        run = write_run(make_root(disk), DIARY, **REQUEST, selectors={"pause": 0.01})
        with attempt(run) as process:
            until(lambda: rows_written(run) >= chance.randrange(1, 12), process)
            fill(disk, 0)
            process.wait(RUN_DEADLINE_SEC)
        assert_ended_by_full_disk(run)


@pytest.mark.slow
def test_without_any_room_what_was_there_stays_and_nothing_is_called_done(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4096) as disk:
        run = write_run(make_root(disk), DIARY, **REQUEST, selectors={"pause": 0.02})
        with attempt(run) as process:
            until(lambda: rows_written(run) >= 10, process)  # more than the room of what can be given up
            Reserve(disk).release()
            fill(disk, 0)
            assert process.wait(RUN_DEADLINE_SEC) == 1
        assert not run.is_done()
        assert not run.done.exists()
        assert view_run(run).status == "aborted"
        assert run.read_summary().status == "running"
        assert len(read_rows(run)) >= 10
        assert not run.progress.exists()
        assert_nothing_torn(run)
        assert_all_gone(run)


@pytest.mark.slow
def test_a_disk_without_inodes_is_called_so(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4096, inodes=60) as disk:
        run = write_run(make_root(disk), DIARY, **REQUEST)
        with attempt(run) as process:
            process.wait(RUN_DEADLINE_SEC)
        summary = run.read_summary()
        assert summary.status == "error"
        assert "remove files there (it has no inodes left), then `evaltower resume" in str(summary.error)
        assert_nothing_torn(run)


def test_a_root_that_becomes_read_only_is_left_as_it_is(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4096) as disk:
        run = write_run(make_root(disk), DIARY, **REQUEST)
        logs = tmp_path / "logs"
        logs.mkdir()
        (run.path / "attempts").symlink_to(logs)  # to read what it said
        before: dict[str, str] = {}
        with attempt(run) as process:
            remount(disk, "ro")
            before = content(run)
            assert process.wait(RUN_DEADLINE_SEC) == 1
        assert content(run) == before
        said = (logs / "1" / "stderr.log").read_text()
        assert f"{run.summary}: Read-only file system: have that file system mounted for writing" in said


@pytest.mark.slow
@pytest.mark.parametrize("files", [pytest.param(14, marks=pytest.mark.slow), 24])
def test_too_few_open_files_end_the_run_with_what_it_has(tmp_path: Path, files: int) -> None:
    run = write_run(make_root(tmp_path), DIARY, **REQUEST, selectors={"pause": 0.01})
    with attempt(run) as process:
        until(lambda: rows_written(run) >= 2, process)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (files, files))
        process.wait(RUN_DEADLINE_SEC)
    summary = run.read_summary()
    if summary.status != "completed":
        assert "raise the limit on open files" in str(summary.error)
        assert summary.status == "error"
        assert {row.status for row in read_rows(run)} <= {"completed", "cancelled"}
    assert run.is_done()
    assert_nothing_torn(run)
    assert_all_gone(run)
    resumed(run)
    assert_counted_once(run, EPISODES, attempts=2)


CLOCK = """
import datetime, itertools, random, time

really, steps = time.time, random.Random(1)
time.time = lambda: really() + steps.choice((-3600.0, 0.0, 3600.0))


class Stepping(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(hours=steps.choice((-1, 0, 1)))


datetime.datetime = Stepping
"""


@pytest.mark.slow
def test_in_a_long_path_a_stepped_clock_changes_only_what_is_told(tmp_path: Path, expected: str) -> None:
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock" / "sitecustomize.py").write_text(CLOCK)
    root = tmp_path / ("r" * (150 - len(str(tmp_path))))
    run = write_run(make_root(root), DIARY, **REQUEST, timeout_sec=90.0)
    with attempt(run, PYTHONPATH=os.pathsep.join([str(tmp_path / "clock"), os.getcwd()])) as process:
        assert process.wait(RUN_DEADLINE_SEC) == 0
    assert_counted_once(run, EPISODES)
    assert run.read_summary().result_digest == expected
    lines = [json.loads(line) for line in (run.episodes / "ep0000" / "log.jsonl").read_bytes().splitlines()]
    assert len({line["timestamp"][:13] for line in lines}) > 1, "the clock was not stepped"
    assert all(line["duration_ms"] < 3_600_000 for line in lines)
    assert 0 < run.read_summary().elapsed_sec < 90
    assert last_words(run).count("ERROR") == 0
