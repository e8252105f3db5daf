from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from engine.store.atomic import write_json
from engine.store.digest import result_digest
from engine.store.jsonl import LineAppender
from engine.store.process_identity import ProcessIdentity, identity
from engine.store.records import EpisodeRow, Job, RunStatus, Summary, SummaryConfig
from engine.store.rundir import RunDir, RunDirError, create_run_dir
from engine.store.runs import RunNotFoundError, find_run, list_runs, read_rows, view_run
from tests.fakes.finished_runs import make_run, make_spec

NOON = datetime(2026, 5, 18, 12, 0, 0)


def test_ids_are_claimed_by_mkdir_once_each(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        claimed = list(pool.map(lambda _: create_run_dir(tmp_path, NOON).run_id, range(24)))
    expected = {"20260518_120000"} | {f"20260518_120000_{n}" for n in range(2, 25)}
    assert sorted(claimed) == sorted(expected)


def test_newest_first_also_beyond_ten_in_a_second(tmp_path: Path) -> None:
    for _ in range(11):
        make_run(tmp_path, now=NOON)
    assert [v.run.run_id for v in list_runs(tmp_path)][:2] == ["20260518_120000_11", "20260518_120000_10"]
    assert list_runs(tmp_path)[-1].run.run_id == "20260518_120000"


def test_an_empty_root_has_no_runs(tmp_path: Path) -> None:
    assert list_runs(tmp_path) == []
    with pytest.raises(RunNotFoundError, match="no runs"):
        find_run(tmp_path, "last")


def dead_process() -> ProcessIdentity:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    who = identity(child.pid)
    child.communicate(b"\n")
    return who


def stand(run: RunDir, process: ProcessIdentity | None, status: RunStatus, done: bytes | None) -> RunStatus:
    write_json(run.job, Job(run_id=run.run_id, state="started", process=process))
    config = SummaryConfig(graph_name="g")
    write_json(run.summary, Summary(run_id=run.run_id, config=config, status=status, created_at=""))
    if done is not None:
        run.done.write_bytes(done)
    return view_run(run).status


def test_a_run_without_done_and_without_writer_is_aborted(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.done.unlink()
    here = identity()
    elsewhere = msgspec.structs.replace(here, boot_id="another boot")
    assert stand(run, here, "running", None) == "running"
    assert stand(run, elsewhere, "running", None) == "aborted"
    assert stand(run, dead_process(), "running", None) == "aborted"
    assert stand(run, None, "pending", None) == "aborted"
    assert stand(run, dead_process(), "completed", b"") == "aborted", "an empty _DONE does not count"
    assert stand(run, dead_process(), "completed", b"2026-05-18\n") == "completed"


def test_a_broken_run_is_listed_with_the_reason(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.summary.write_text('{"run_id": ')
    create_run_dir(tmp_path, datetime(2030, 1, 1))
    empty, broken = list_runs(tmp_path)
    assert (empty.status, broken.status) == ("aborted", "aborted")
    assert "spec.json is not there" in str(empty.head.error)
    assert "summary.json cannot be read" in str(broken.head.error)


def test_finding_a_run(tmp_path: Path) -> None:
    first = make_run(tmp_path, now=NOON, label="baseline")
    second = make_run(tmp_path, now=datetime(2026, 5, 19, 8, 0, 0))
    third = make_run(tmp_path, now=datetime(2026, 5, 19, 8, 0, 0), label="again")
    make_run(tmp_path, now=datetime(2026, 5, 18, 9, 0, 0), label="again")
    assert find_run(tmp_path, "last") == third
    assert find_run(tmp_path, second.run_id) == second, "an id that begins another id"
    assert find_run(tmp_path, "20260518_12") == first
    assert find_run(tmp_path, "baseline") == first
    with pytest.raises(RunNotFoundError, match="more than one run: 20260519_080000_2, 20260518_090000"):
        find_run(tmp_path, "again")
    with pytest.raises(RunNotFoundError, match="more than one"):
        find_run(tmp_path, "2026")
    with pytest.raises(RunNotFoundError, match="no run is called 'nope'"):
        find_run(tmp_path, "nope")
    with pytest.raises(RunNotFoundError):
        find_run(tmp_path, "")


def row(index: int, *, repeat: int = 1, steps: int = 5, **more: object) -> EpisodeRow:
    plain = {"episode_index": index, "status": "completed", "termination": "stopped", "repeat": repeat,
             "step_count": steps, "metrics": {"success": 1.0}}  # fmt: skip
    return msgspec.convert(plain | more, EpisodeRow)


def test_the_last_row_of_an_identity_wins(tmp_path: Path) -> None:
    run = make_run(tmp_path, rows=())
    appender = LineAppender(run.episode_rows)
    for item in (row(2), row(1, steps=3), row(1, repeat=2), row(1, selectors={"task": "b"}), row(1, steps=9)):
        appender.append(item)
    appender.close()
    found = [(r.episode_index, r.selectors, r.repeat, r.step_count) for r in read_rows(run)]
    assert found == [(1, {"task": "b"}, 1, 5), (1, {}, 1, 9), (1, {}, 2, 5), (2, {}, 1, 5)]


def test_the_digest_sees_results_and_nothing_else() -> None:
    rows = [row(0), row(1)]
    digest = result_digest(rows)
    assert result_digest(reversed(rows)) == digest
    assert result_digest([row(0, worker_id=3, elapsed_sec=9.0, started_at="later"), row(1)]) == digest
    assert result_digest([row(0, metrics={"success": 1}), row(1)]) == digest, "1 and 1.0 are one number"
    for change in (
        {"steps": 6},
        {"metrics": {"success": 0.0}},
        {"metrics": {"success": None}},
        {"status": "error"},
        {"trajectory_digest": "00"},
        {"selectors": {"task": "b"}},
    ):
        assert result_digest([row(0, **change), row(1)]) != digest  # type: ignore[arg-type]


def test_an_infra_row_enters_as_the_word_alone() -> None:
    crash = row(0, status="error", error_class="infra", termination="env_crash", error="exit code 1")
    late = row(0, status="error", error_class="infra", termination="timeout", steps=7, trajectory_digest="ab")
    assert result_digest([crash]) == result_digest([late])
    assert result_digest([crash]) != result_digest([row(0)])


def test_newer_fields_are_passed_over_and_broken_files_named(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    spec = json.loads(run.spec.read_text()) | {"from_the_future": 1}
    run.spec.write_text(json.dumps(spec))
    assert run.read_spec().run_id == run.run_id
    run.spec.write_text('{"run_id": 3}')
    with pytest.raises(RunDirError, match=r"spec\.json cannot be read"):
        run.read_spec()
    with pytest.raises(RunDirError, match=r"environment\.json is not there"):
        RunDir(tmp_path / "nothing").read_environment()
    assert make_spec(run.run_id) is not None
