"""What the shards of a run wrote becomes the run's, whenever it is looked at, and by whomever."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.scheduling.launchers.slurm import merging
from engine.scheduling.launchers.slurm.merging import Merger
from engine.statistics.folding import fold_rows
from engine.store.atomic import write_json
from engine.store.digest import result_digest
from engine.store.environment_record import BatchedRecord, EnvironmentRecord, NodesetRecord
from engine.store.jsonl import LineAppender, read_records
from engine.store.pending import pending_summary
from engine.store.records import EpisodeRow, Progress, RunStatus, WorkerProgress
from engine.store.rundir import RunDir, create_run_dir
from engine.store.runs import read_rows
from tests.fakes.finished_runs import fake_row, make_spec

SHARDS = 2


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return made(tmp_path)


def made(root: Path, shards: int = SHARDS, **request: Any) -> RunDir:
    run = create_run_dir(root, datetime(2026, 5, 18, 12))
    spec = make_spec(run.run_id, **({"episode_count": 6} | request))
    write_json(run.spec, spec)
    write_json(run.summary, pending_summary(spec))
    for number in range(shards):
        RunDir(run.path, number).own.mkdir(parents=True)
    return run


def append(run: RunDir, *rows: EpisodeRow) -> None:
    appender = LineAppender(run.episode_rows)
    for row in rows:
        appender.append(row, durable=False)
    appender.close()


def write_summary(shard: RunDir, status: RunStatus = "running", **fields: Any) -> None:
    summary = pending_summary(shard.read_spec())
    summary.status = status
    for name, value in fields.items():
        setattr(summary, name, value)
    write_json(shard.summary, summary)


def merger(run: RunDir) -> Merger:
    return Merger(run, SHARDS, fold_rows)


def test_before_a_shard_has_begun_nothing_is_written(run: RunDir) -> None:
    before = {path: path.stat().st_mtime_ns for path in run.path.iterdir()}
    merger(run).gather()
    assert {path: path.stat().st_mtime_ns for path in run.path.iterdir()} == before


Step = tuple[str, int]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["row", "torn", "again"]), st.integers(0, 5)),
            st.tuples(st.sampled_from(["gather", "anew", "rescored"]), st.integers(0, 5)),
        ),
        max_size=24,
    )
)
def test_rows_come_once_in_whatever_order_all_goes(steps: list[Step]) -> None:
    """A shard's row is gathered before the run is scored again, so that the last word is the last written."""
    with TemporaryDirectory() as folder:
        run = made(Path(folder))
        for shard in run.shards():
            write_summary(shard)
        merged, last = merger(run), {}
        for writes, (what, index) in enumerate(steps):
            shard = RunDir(run.path, index // 3)
            if what in ("row", "again"):
                last[index] = fake_row(index, instruction=f"write {writes}")
                append(shard, last[index])
            elif what == "torn":
                with open(shard.episode_rows, "ab") as file:
                    file.write(b'{"episode_index": 5, "sta')
            elif what == "rescored":
                merged.finish("aborted", None)
                if index in last:
                    last[index] = fake_row(index, instruction=f"write {writes}")
                    append(run, last[index])
            elif what == "anew":
                merged = merger(run)
            else:
                merged.gather()
        merged.finish("completed", None)
        expected = [last[index] for index in sorted(last)]
        assert read_rows(run) == run.read_summary().episodes == expected
        assert run.read_summary().result_digest == result_digest(expected)
        lines = [row.instruction for row in read_records(run.episode_rows, EpisodeRow)]
        assert len(lines) == len(set(lines))


def test_what_could_not_be_written_is_written_the_next_time(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = run.shards()[1]
    write_summary(shard)
    append(shard, fake_row(3), fake_row(4))
    write_json(shard.progress, Progress(run_id=run.run_id, updated_at="t"))
    merged, whole = merger(run), merging.write_bytes
    refused = OSError(28, "No space left on device")

    def full(path: Path, data: bytes, **more: Any) -> None:
        raise refused

    monkeypatch.setattr(merging, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        merged.gather()
    monkeypatch.setattr(merging, "write_bytes", whole)
    merged.gather()
    assert [row.episode_index for row in run.read_summary().episodes] == [3, 4]
    assert run.progress.exists()
    assert len(list(read_records(run.episode_rows, EpisodeRow))) == 2


def test_a_spec_that_cannot_be_read_is_said_and_waited_for(
    run: RunDir, caplog: pytest.LogCaptureFixture
) -> None:
    append(run.shards()[0], fake_row(0))
    write_summary(run.shards()[0])
    spec = run.spec.read_bytes()
    run.spec.write_bytes(b"{")
    merged = merger(run)
    merged.gather()
    merged.finish("completed", None)
    assert f"{run.spec} cannot be read" in caplog.text
    assert not run.is_done()
    run.spec.write_bytes(spec)
    merged.gather()
    assert run.read_summary().completed_count == 1


@pytest.mark.parametrize(
    ("request_", "totals", "expected"),
    [
        ({"episode_count": 6}, [3], 6),
        ({"episode_count": 6}, [], 0),
        ({"episode_count": 6, "repeats": 2}, [6, 6], 12),
        ({"episode_count": -1}, [3], 3),
        ({"episode_count": -1}, [3, 4], 7),
        ({"episode_indices": [4, 7, 9]}, [1], 3),
    ],
)
def test_the_total_is_that_of_the_whole_list(
    tmp_path: Path, request_: dict[str, Any], totals: list[int], expected: int
) -> None:
    run = made(tmp_path, **request_)
    for shard, total in zip(run.shards(), totals, strict=False):
        write_summary(shard, total_episodes=total)
    merger(run).gather()
    assert run.read_summary().total_episodes == expected


def test_progress_is_that_of_all_and_the_environment_tells_what_ran_otherwise(run: RunDir) -> None:
    for number, shard in enumerate(run.shards()):
        write_summary(shard, started_at=f"2026-05-18T12:0{number}", elapsed_sec=10.0 + number)
        worker = WorkerProgress(worker_id=2 * number, step=number)
        progress = Progress(run_id=run.run_id, updated_at=f"t{number}", activity="scoring", workers=[worker])
        write_json(shard.progress, progress)
        regimes = [BatchedRecord(nodeset="m", tool="t", regime=("free", "rows")[number])]
        regimes += [BatchedRecord(nodeset="m", tool="u", regime="free")]
        nodesets = [NodesetRecord(name="e", versions={"mujoco": ("3.3.0", "4.0")[number]})]
        nodesets += [NodesetRecord(name="f", versions={"numpy": "2.0"}, url=f"unix:{number}")]
        told_of_it = EnvironmentRecord(run_id=run.run_id, nodesets=nodesets, batched=regimes)
        write_json(shard.environment, told_of_it)
    merger(run).gather()
    progress = run.read_progress() or pytest.fail("none")
    assert [worker.worker_id for worker in progress.workers] == [0, 2]
    assert (progress.updated_at, progress.activity) == ("t1", "scoring")
    told = [(record.tool, record.regime) for record in run.read_environment().batched]
    assert told == [("t", "free"), ("u", "free"), ("t", "rows")]
    versions = [(record.name, record.versions) for record in run.read_environment().nodesets]
    assert versions == [("e", {"mujoco": "3.3.0"}), ("f", {"numpy": "2.0"}), ("e", {"mujoco": "4.0"})]
    summary = run.read_summary()
    assert (summary.started_at, summary.elapsed_sec) == ("2026-05-18T12:00", 11.0)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["completed", "completed"], ("completed", None)),
        (["completed", "cancelled"], ("cancelled", None)),
        (["completed", "error"], ("error", "shard 1: its time was over")),
        (["cancelled", "error"], ("error", "shard 1: its time was over")),
        (["completed", "broken"], ("error", "shard 1: {} cannot be read")),
        (["completed", "alive"], None),
    ],
)
def test_how_a_run_ends_whose_shards_have(
    run: RunDir, statuses: list[Any], expected: tuple[str, str | None] | None
) -> None:
    for shard, status in zip(run.shards(), statuses, strict=True):
        if status == "broken":
            shard.summary.write_bytes(b"{")
        else:
            write_summary(shard, status, error="its time was over" if status == "error" else None)
        if status != "alive":
            shard.mark_done()
    if expected is not None and expected[1] is not None:
        expected = (expected[0], expected[1].format(run.shards()[1].summary))
    assert merger(run).outcome() == expected


def test_the_log_is_that_of_the_shard_that_went_wrong(run: RunDir) -> None:
    for shard in run.shards():
        write_summary(shard)
        for name in ("stdout.log", "stderr.log"):
            (shard.own / name).write_text(f"shard {shard.shard}")
    merged = merger(run)
    merged.gather()
    assert (run.path / "stderr.log").read_text() == "shard 0"
    write_summary(run.shards()[1], "error", error="it broke")
    merged.gather()
    assert (run.path / "stderr.log").read_text() == "shard 1"
    assert os.readlink(run.path / "stdout.log") == "shards/1/stdout.log"
    assert json.loads(run.summary.read_bytes())["status"] == "running"


def test_a_run_of_no_shards_has_none(tmp_path: Path) -> None:
    run = create_run_dir(tmp_path)
    assert run.shards() == []
    assert (run.own, run.whole) == (run.path, run)
    shard = RunDir(run.path, 3)
    assert (shard.own, shard.whole, shard.run_id) == (run.path / "shards" / "3", run, run.run_id)
    assert (shard.spec, shard.episodes, shard.shared_urls) == (run.spec, run.episodes, run.shared_urls)
    assert shard.attempt(1).parent.parent == shard.own
