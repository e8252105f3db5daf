"""What must hold of a run's folder, whatever became of its processes."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec
import psutil
import pytest

from engine.store.records import EpisodeFile
from engine.store.rundir import RunDir
from engine.store.runs import read_rows
from tests.fakes.real_runs import RUN_DEADLINE_SEC

STRICT = {"parse_constant": lambda name: pytest.fail(f"{name} in JSON")}


def until(condition: Callable[[], Any], process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait for a condition, for as long as ``process`` runs."""
    deadline = time.monotonic() + RUN_DEADLINE_SEC
    while not condition():
        assert process is None or process.poll() is None, "the run ended early"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def rows_written(run: RunDir) -> int:
    return run.episode_rows.read_bytes().count(b"\n") if run.episode_rows.exists() else 0


def processes_of(run: RunDir) -> list[psutil.Process]:
    def mentions(process: psutil.Process) -> bool:
        try:
            words = process.cmdline()  # by the root: a run of another root may have the same id
            return any(str(run.root) in word for word in words) and process.status() != "zombie"
        except psutil.Error:
            return False

    return [process for process in psutil.process_iter() if mentions(process)]


def assert_all_gone(run: RunDir) -> None:
    _, alive = psutil.wait_procs(processes_of(run), timeout=30)
    assert alive == []


def assert_nothing_torn(run: RunDir) -> None:
    """Every JSON file parses, and every episode with a row can be read alone."""
    for path in run.path.rglob("*.json"):
        json.loads(path.read_bytes().decode("utf-8"), **STRICT)
    files = {}
    for path in run.episodes.glob("*/episode.json"):
        kept = msgspec.json.decode(path.read_bytes(), type=EpisodeFile)
        files[kept.episode.identity] = path.parent, kept.episode
    for row in read_rows(run):
        folder, kept_row = files[row.identity]
        assert kept_row == row
        if row.status != "cancelled" and row.step_count:
            log = (folder / "log.jsonl").read_bytes()
            assert log.endswith(b"\n")
            for line in log.splitlines():
                json.loads(line, **STRICT)


def assert_counted_once(run: RunDir, episodes: int, attempts: int = 1) -> None:
    """Each of the first ``episodes`` has its row, its folder and its place in the numbers, once."""
    summary = run.read_summary()
    assert summary.status == "completed", f"{summary.error}\n{last_words(run)[-2000:]}"
    assert run.is_done()
    assert [row.episode_index for row in summary.episodes] == list(range(episodes))
    assert summary.episodes == read_rows(run)
    assert summary.completed_count == summary.total_episodes == episodes
    assert {path.name for path in run.episodes.iterdir()} == {f"ep{i:04d}" for i in range(episodes)}
    progress = run.read_progress()
    assert progress is not None
    done = [(worker.episodes_done, worker.episodes_total) for worker in progress.workers]
    assert sum(count for count, _ in done) == sum(total for _, total in done) == episodes
    steps = sum(worker.steps_done for worker in progress.workers)
    assert steps == sum(row.step_count for row in summary.episodes)
    assert run.read_job().attempt == attempts
    assert_nothing_torn(run)


def content(run: RunDir) -> dict[str, str]:
    """A digest of every file but those of single attempts, and job.json, which is never the run's."""
    return {
        str(path.relative_to(run.path)): blake2b(path.read_bytes()).hexdigest()
        for path in sorted(run.path.rglob("*"))
        if path.is_file()
        and path.relative_to(run.path).parts[0] not in ("attempts", "stdout.log", "stderr.log")
    }


def last_words(run: RunDir) -> str:
    """What its newest attempt has said."""
    return (run.path / "stderr.log").read_text()
