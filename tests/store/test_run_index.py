"""A long history: which files a list opens, and that the index is never believed against them."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.store.atomic import write_json
from engine.store.process_identity import identity
from engine.store.records import Job, RunStatus
from engine.store.run_index import index_path
from engine.store.rundir import RunDir, runs_folder
from engine.store.runs import RunNotFoundError, find_run, list_runs
from tests.fakes.finished_runs import make_run
from tests.fakes.many_runs import make_many_runs

_opened: list[str] | None = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open":
        _opened.append(str(arguments[0]))


sys.addaudithook(_audit)


@contextmanager
def opened(root: Path) -> Iterator[Counter[str]]:
    """How often a file of each name, below the root's ``outputs``, was opened."""
    global _opened
    _opened = []
    names: Counter[str] = Counter()
    try:
        yield names
    finally:
        below = str(root / "outputs") + os.sep
        names.update(Path(path).name for path in _opened if path.startswith(below))
        _opened = None


def ids(root: Path, **asked: Any) -> list[str]:
    return [view.run.run_id for view in list_runs(root, **asked)]


def revive(run: RunDir, status: RunStatus = "running") -> None:
    """Make it a run that this process runs."""
    write_json(run.job, Job(run_id=run.run_id, state="started", process=identity()))
    run.done.unlink()
    summary = run.read_summary()
    summary.status = status
    write_json(run.summary, summary)


def test_finished_runs_are_read_once_and_live_ones_each_time(tmp_path: Path) -> None:
    runs = make_many_runs(tmp_path, 30)
    revive(runs[4])
    before = list_runs(tmp_path)
    with opened(tmp_path) as files:
        after = list_runs(tmp_path)
    assert after == before
    assert files == {"run_index.json": 1, "spec.json": 1, "summary.json": 1, "job.json": 1}
    assert [view.status for view in after].count("running") == 1


def test_a_page_reads_no_more_than_it_shows(tmp_path: Path) -> None:
    make_many_runs(tmp_path, 30)
    with opened(tmp_path) as files:
        first = ids(tmp_path, limit=5)
    assert (files["summary.json"], files["spec.json"]) == (5, 5)
    with opened(tmp_path) as files:
        second = ids(tmp_path, limit=5, before=first[-1])
    assert (files["summary.json"], files["run_index.json"]) == (5, 1)
    assert first + second == ids(tmp_path)[:10]


def test_filters_are_applied_before_the_limit(tmp_path: Path) -> None:
    runs = make_many_runs(tmp_path, 8)
    revive(runs[2])
    cancelled = make_run(tmp_path, status="cancelled")
    for _ in range(2):
        assert ids(tmp_path, status="running", limit=1) == [runs[2].run_id]
        assert ids(tmp_path, status="cancelled") == [cancelled.run_id]
        assert ids(tmp_path, graph="fake_follow", limit=2, before=runs[2].run_id) == [
            runs[1].run_id,
            runs[0].run_id,
        ]
        assert ids(tmp_path, graph="other") == []


def test_a_run_that_was_resumed_rescored_or_deleted_is_not_shown_as_it_was(tmp_path: Path) -> None:
    resumed, rescored, deleted = make_many_runs(tmp_path, 3)
    list_runs(tmp_path)
    revive(resumed, "pending")
    summary = rescored.read_summary()
    summary.elapsed_sec = 99.0
    write_json(rescored.summary, summary)
    for file in deleted.path.rglob("*"):
        if file.is_file():
            file.unlink()
    for folder in sorted(deleted.path.rglob("*"), reverse=True):
        folder.rmdir()
    deleted.path.rmdir()
    newest, oldest = list_runs(tmp_path)
    assert (oldest.status, newest.head.elapsed_sec) == ("pending", 99.0)
    assert deleted.run_id not in index_path(tmp_path).read_text()


@pytest.mark.parametrize("garbage", [b"", b"{", b"\xff\xfe", b'{"version": 0, "runs": {}}', b'{"version":1}'])
def test_an_unreadable_index_is_made_anew(tmp_path: Path, garbage: bytes) -> None:
    make_many_runs(tmp_path, 3)
    before = list_runs(tmp_path)
    good = index_path(tmp_path).read_bytes()
    index_path(tmp_path).write_bytes(garbage)
    assert list_runs(tmp_path) == before
    assert index_path(tmp_path).read_bytes() == good


def test_an_index_that_cannot_be_written_costs_time_alone(tmp_path: Path) -> None:
    make_many_runs(tmp_path, 3)
    index_path(tmp_path).mkdir(parents=True)
    assert len(list_runs(tmp_path)) == 3


def test_readers_side_by_side_see_every_run(tmp_path: Path) -> None:
    expected = [run.run_id for run in reversed(make_many_runs(tmp_path, 40))]

    def read(number: int) -> list[str]:
        if number % 3 == 0:
            index_path(tmp_path).unlink(missing_ok=True)
        return ids(tmp_path)

    with ThreadPoolExecutor(8) as pool:
        assert all(found == expected for found in pool.map(read, range(32)))


def test_one_broken_run_hides_no_other(tmp_path: Path) -> None:
    runs = make_many_runs(tmp_path, 3)
    runs[1].summary.unlink()
    runs[1].summary.mkdir()
    for _ in range(2):
        newest, broken, oldest = list_runs(tmp_path)
        assert {newest.status, oldest.status} == {"completed"}
        assert "summary.json" in str(broken.head.error)


def test_a_run_is_found_by_its_id_without_reading_any(tmp_path: Path) -> None:
    runs = make_many_runs(tmp_path, 5)
    with opened(tmp_path) as files:
        assert find_run(tmp_path, runs[2].run_id) == runs[2]
        assert find_run(tmp_path, "last") == runs[4]
    assert files["spec.json"] == files["summary.json"] == files["run_index.json"] == 0


def test_near_names_and_no_paths(tmp_path: Path) -> None:
    run = make_run(tmp_path, label="baseline")
    (tmp_path / "outputs" / "other").mkdir()
    with pytest.raises(RunNotFoundError, match="'basline'; near: baseline"):
        find_run(tmp_path, "basline")
    for name in ("../other", "..", ".", f"../eval_runs/{run.run_id}", "\0", "x" * 5000, "\udcff"):
        with pytest.raises(RunNotFoundError):
            find_run(tmp_path, name)
    assert runs_folder(tmp_path) / run.run_id == find_run(tmp_path, "baseline").path
