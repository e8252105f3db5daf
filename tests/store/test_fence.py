from __future__ import annotations

from pathlib import Path

import pytest

from engine.store.atomic import write_json
from engine.store.fence import Fence, FencedError
from engine.store.jsonl import LineAppender, read_lines
from engine.store.records import Job
from engine.store.rundir import RunDir, RunDirError, create_run_dir


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    run = create_run_dir(tmp_path)
    write_job(run, attempt=1, token="a")
    return run


def write_job(run: RunDir, **fields: object) -> None:
    write_json(run.job, Job(**({"run_id": run.run_id, "state": "started"} | fields)))  # type: ignore[arg-type]


def test_the_environment_says_which_attempt_it_is_or_else_the_job(run: RunDir) -> None:
    named = Fence.of_this_process(run, {"EVALTOWER_ATTEMPT": f"{run.run_id}/7/x/y"})
    assert named.attempt == 7
    with pytest.raises(FencedError, match="attempt 1 has taken its place"):
        named.check()
    for environ in ({}, {"EVALTOWER_ATTEMPT": "20200101_000000/7/x"}, {"EVALTOWER_ATTEMPT": run.run_id}):
        own = Fence.of_this_process(run, environ)
        assert own.attempt == 1
        own.check()
    run.job.unlink()
    with pytest.raises(RunDirError, match="is not there"):
        Fence.of_this_process(run, {})


@pytest.mark.parametrize("taken", [{"attempt": 2, "token": "b"}, {"attempt": 1, "token": "b"}])
def test_who_lost_its_run_writes_nothing(run: RunDir, taken: dict[str, object]) -> None:
    fence = Fence(run, 1, "a")
    appender = LineAppender(run.episode_rows, fence.check)
    appender.append({"n": 1})
    write_json(run.summary, {"n": 1}, before=fence.check)
    write_job(run, **taken)
    with pytest.raises(FencedError):
        appender.append({"n": 2})
    with pytest.raises(FencedError):
        write_json(run.summary, {"n": 2}, before=fence.check)
    appender.close()
    assert list(read_lines(run.episode_rows)) == [b'{"n":1}']
    assert b"1" in run.summary.read_bytes()
    assert sorted(path.name for path in run.path.iterdir()) == ["episodes.jsonl", "job.json", "summary.json"]


def test_a_new_intent_is_seen_and_fences_nobody(run: RunDir) -> None:
    fence = Fence(run, 1, "a")
    assert fence.job().cancel_requested_at is None
    write_job(run, attempt=1, token="a", cancel_requested_at="now")
    assert fence.job().cancel_requested_at == "now"


def test_what_was_closed_off_deleted_or_broken_fences(run: RunDir) -> None:
    fence = Fence(run, 1, "a")
    write_job(run, attempt=1, token="a", state="ended")
    with pytest.raises(FencedError, match="closed off"):
        fence.check()
    run.job.write_bytes(b"{")
    with pytest.raises(FencedError, match="cannot be read"):
        fence.check()
    run.job.unlink()
    with pytest.raises(FencedError, match="has no job"):
        fence.check()


def test_a_shard_has_a_job_of_its_own(run: RunDir) -> None:
    shard = RunDir(run.path, 1)
    shard.own.mkdir(parents=True)
    write_job(shard, attempt=4, token="b")
    mark = {"EVALTOWER_ATTEMPT": f"{run.run_id}/4/b"}
    Fence.of_this_process(shard, mark).check()
    write_job(run, attempt=2, token="c")
    Fence.of_this_process(shard, mark).check()
    write_job(shard, attempt=5, token="d")
    with pytest.raises(FencedError, match="attempt 5 has taken its place"):
        Fence.of_this_process(shard, mark).check()
