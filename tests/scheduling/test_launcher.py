from __future__ import annotations

import signal
from pathlib import Path

import pytest

from engine.scheduling.launchers import closing
from engine.scheduling.launching import LaunchError, RunEnd
from engine.store.atomic import write_json
from engine.store.attempts import Attempt, ExitRecord
from engine.store.process_identity import send_signal
from engine.store.rundir import RunDir
from engine.store.runs import view_run
from tests.fakes.family import KINDS, living, read_family
from tests.fakes.family_run import FAMILY
from tests.scheduling.launching import (
    GRACE,
    Box,
    queued,
    run_processes,
    start_of,
    wait_for,
    wait_until_all_are_gone,
)

MORE = 2.0


@pytest.mark.parametrize("fake", ["hang", "deaf"])
def test_a_cancelled_run_is_cancelled_and_leaves_nothing(box: Box, fake: str) -> None:
    run, family = box.started(fake)
    box.launcher.stop_run(run.run_id, "cancelled")
    assert wait_until_all_are_gone(box, run, family) < GRACE + MORE
    assert box.end(run) == RunEnd("cancelled")
    summary = run.read_summary()
    assert (summary.status, summary.completed_count, len(summary.episodes)) == ("cancelled", 1, 1)
    assert run.is_done()
    assert run.read_job().state == "ended"
    assert view_run(run).status == "cancelled"


@pytest.mark.parametrize("fake", ["hang", "deaf"])
def test_a_run_out_of_time_is_an_error_and_leaves_nothing(box: Box, fake: str) -> None:
    run, family = box.started(fake)
    why = "its time limit of 1 h is over"
    for _ in range(3):  # a scheduler says so at every tick
        box.launcher.stop_run(run.run_id, why)
    assert wait_until_all_are_gone(box, run, family) < GRACE + MORE
    assert box.end(run) == RunEnd("failed", why)
    assert (run.read_summary().status, run.read_summary().error) == ("error", why)
    assert run.is_done()


def test_a_killed_run_is_aborted_and_leaves_nothing(box: Box) -> None:
    run, family = box.started()
    [command] = run_processes(box, run)
    assert send_signal(command, signal.SIGKILL)
    assert wait_until_all_are_gone(box, run, family) < MORE
    end = box.end(run)
    assert end is not None
    assert end.outcome == "infra"
    assert "SIGKILL (9)" in end.message
    summary = run.read_summary()
    assert (summary.status, summary.error, summary.completed_count) == ("aborted", end.message, 1)
    assert summary.aggregate_metrics == {"success": 0.0}
    assert summary.result_digest is not None
    assert run.is_done()


def test_a_run_that_said_itself_why_it_was_cut_short_is_told_so(box: Box) -> None:
    run, family = box.started()
    summary = run.read_summary()
    summary.status, summary.error = "aborted", "its process was told to end by hand"
    write_json(run.summary, summary)
    [command] = run_processes(box, run)
    assert send_signal(command, signal.SIGKILL)
    wait_until_all_are_gone(box, run, family)
    assert box.end(run) == RunEnd("infra", "its process was told to end by hand")
    assert run.read_summary().error == "its process was told to end by hand"


def test_its_own_words_stand_unless_no_backend_lived(box: Box) -> None:
    run = box.run()
    assert "exit code 1" in closing.told(run, ExitRecord(rc=1), 3)
    summary = run.read_summary()
    summary.status, summary.error = "aborted", "its own words"
    write_json(run.summary, summary)
    for ended in (None, ExitRecord(rc=1), ExitRecord(rc=1, stopped_by="request")):
        assert closing.told(run, ended, 3) == "its own words"
    assert "no backend lived for 3 s" in closing.told(run, ExitRecord(rc=1, stopped_by="orphaned"), 3)


def test_a_killed_shim_leaves_nothing_that_a_poll_has_seen(box: Box) -> None:
    run, family = box.started()
    box.launcher.poll([run.run_id], [])
    assert send_signal(box.shim(run), signal.SIGKILL)
    assert wait_until_all_are_gone(box, run, family) < MORE
    end = box.end(run)
    assert end is not None
    assert (end.outcome, run.read_summary().status) == ("infra", "aborted")


def test_a_shim_that_was_killed_while_no_backend_lived(box: Box) -> None:
    """What cleared its environment cannot be told from others' then."""
    run, family = box.started()
    assert send_signal(box.shim(run), signal.SIGKILL)
    box.restart()
    wait_for(lambda: box.end(run), "its end")
    assert living(family) == ["bare"]


def test_a_cancelled_run_whose_shim_is_killed_is_cancelled(box: Box) -> None:
    run, family = box.started("deaf")
    box.launcher.poll([run.run_id], [])
    box.launcher.stop_run(run.run_id, "cancelled")
    assert send_signal(box.shim(run), signal.SIGKILL)
    assert box.end(run) == RunEnd("cancelled")
    assert not living(family)
    assert view_run(run).status == "cancelled"


@pytest.mark.parametrize(
    ("fake", "end", "status"),
    [
        ("finish", RunEnd("completed"), "completed"),
        ("fail", RunEnd("failed", "no such thing"), "error"),
    ],
)
def test_a_run_that_ends_by_itself(box: Box, fake: str, end: RunEnd, status: str) -> None:
    run = box.run(fake)
    box.start(run)
    assert box.end(run) == end
    assert box.end(run) == end, "it is told each time"
    assert not living(read_family(run.path / FAMILY))
    assert (run.read_summary().status, run.read_job().state) == (status, "ended")
    box.launcher.stop_run(run.run_id, "cancelled")
    box.restart()
    assert box.end(run) == end, "a cancel after the end changes nothing"


@pytest.mark.parametrize(
    ("completed", "errors", "total", "teaches"),
    [(8, 0, 8, True), (8, 5, 8, False), (8, 4, 8, True), (200, 200, 200, False), (2, 0, 2, True)],
)
def test_a_run_teaches_what_it_takes_where_each_worker_had_an_episode_that_did_not_fail(
    box: Box, completed: int, errors: int, total: int, teaches: bool
) -> None:
    """Four workers."""
    run = box.run()
    summary = run.read_summary()
    summary.status, summary.config.worker_count = "completed", 4
    summary.completed_count, summary.error_count, summary.total_episodes = completed, errors, total
    write_json(run.summary, summary)
    assert closing.as_written(run) == RunEnd("completed", teaches=teaches)


def test_what_the_folder_says_of_a_start(box: Box) -> None:
    run, _ = box.started(visible=("GPU-0", "GPU-7"))
    job = run.read_job()
    assert (job.state, job.attempt, job.process) == ("started", 1, box.shim(run))
    assert (job.gpus, job.admit_charges) == (["GPU-0", "GPU-7"], {"vram": 2500.0, "ram": 1000.0})
    assert job.admit_basis == {"vram": "declared"}
    assert run.read_shared_urls() == {"borrowed": "http://there", "model": "unix:/there/server:model@aa"}
    [process] = run_processes(box, run)
    environ = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
    assert b"CUDA_VISIBLE_DEVICES=GPU-0,GPU-7" in environ
    assert b"CUDA_DEVICE_ORDER=PCI_BUS_ID" in environ
    assert f"EVALTOWER_ATTEMPT={run.run_id}/1/{job.token}".encode() in environ
    state = box.launcher.poll([run.run_id], ["server:x"])
    assert state.runs[run.run_id].pid == box.shim(run).pid
    assert state.servers["server:x"].ready
    wait_for(lambda: box.launcher.poll([run.run_id], []).runs[run.run_id].working, "its first step")
    assert view_run(run).status == "running"


def test_what_the_box_failed_is_tried_again_in_a_new_attempt(box: Box) -> None:
    run = box.run("crash")
    box.start(run, retries=1)
    end = box.end(run)
    assert end is not None
    assert (end.outcome, "exit code 3" in end.message) == ("infra", True)
    job = run.read_job()
    assert (job.state, job.attempt, run.read_summary().status) == ("queued", 2, "pending")
    assert not run.is_done()
    assert box.end(run) == end
    box.start(run, retries=1, failures=1)
    assert box.end(run) == end
    assert sorted(path.name for path in (run.path / "attempts").iterdir()) == ["1", "2"]
    assert (run.read_summary().status, run.read_summary().completed_count) == ("aborted", 2)
    assert (run.path / "stderr.log").resolve() == run.attempt(2) / "stderr.log"


def test_a_backend_that_starts_anew_goes_on_with_what_runs(box: Box) -> None:
    run, family = box.started()
    box.restart()
    state = box.launcher.poll([run.run_id], []).runs[run.run_id]
    assert (state.pid, state.end) == (box.shim(run).pid, None)
    box.launcher.stop_run(run.run_id, "cancelled")
    assert box.end(run) == RunEnd("cancelled")
    assert not living(family)


def test_a_cancel_is_heeded_by_the_next_backend(box: Box) -> None:
    run, family = box.started()
    job = run.read_job()
    job.cancel_requested_at = "2026-05-18T12:00:00+00:00"
    write_json(run.job, job)  # and the backend died before it could ask anyone
    box.restart()
    assert box.end(run) == RunEnd("cancelled")
    assert not living(family)


def test_asking_again_does_not_cut_the_grace_short_a_shorter_one_does(box: Box) -> None:
    box.grace = 3600.0
    box.restart()
    run, family = box.started("deaf")
    box.launcher.stop_run(run.run_id, "cancelled")
    comm = Path(f"/proc/{box.shim(run).pid}/comm")
    wait_for(lambda: comm.read_text() == "evt-stopping\n", "its being asked")
    for _ in range(2):
        box.restart()
        box.launcher.stop_run(run.run_id, "cancelled")
        box.launcher.poll([run.run_id], [])
    box.launcher.stop_run(run.run_id, "cancelled")
    assert set(living(family)) == set(KINDS)
    assert box.launcher.poll([run.run_id], []).runs[run.run_id].end is None
    box.launcher.stop_run(run.run_id, "cancelled", 0.0)
    assert box.end(run) == RunEnd("cancelled")
    assert not living(family)


def test_a_cancel_while_it_is_being_started(box: Box) -> None:
    for _ in range(4):
        run = box.run()
        box.start(run)
        box.launcher.stop_run(run.run_id, "cancelled")
        assert box.end(run) == RunEnd("cancelled")
        assert not living(read_family(run.path / FAMILY))
        assert view_run(run).status == "cancelled"


def test_one_that_is_to_end_is_not_started(box: Box) -> None:
    run = box.run()
    job = run.read_job()
    job.cancel_requested_at = "2026-05-18T12:00:00+00:00"
    write_json(run.job, job)
    box.start(run)
    assert box.end(run) == RunEnd("cancelled")
    assert not (run.path / "attempts").exists()


def test_one_that_was_let_in_and_never_began_is_not_lost_and_does_not_begin_late(box: Box) -> None:
    run = box.run()
    assert box.end(run) is None
    job = run.read_job()
    job.state = "started"  # a backend died between writing this and its shim's first act
    write_json(run.job, job)
    box.restart()
    assert box.end(run) is None
    claim = Attempt.of(run.path, 1).read_shim()
    assert claim is not None
    assert claim.void
    assert (run.read_job().state, run.read_job().attempt, view_run(run).status) == ("queued", 2, "pending")
    box.start(run)
    box.launcher.stop_run(run.run_id, "cancelled")
    assert box.end(run) == RunEnd("cancelled")


def test_a_run_that_runs_is_not_started_again(box: Box) -> None:
    run, family = box.started()
    box.restart()
    with pytest.raises(LaunchError, match="runs already"):
        box.start(run)
    assert set(living(family)) == set(KINDS)


def test_a_run_that_is_not_there_is_not_told_of(box: Box) -> None:
    assert box.launcher.poll(["20260101_000000"], []).runs == {}
    missing = RunDir(box.root / "outputs" / "eval_runs" / "20260101_000000")
    with pytest.raises(LaunchError, match="is not there"):
        box.launcher.start_run(queued(missing), start_of(missing))


def test_ends_without_a_process(box: Box) -> None:
    cancelled, refused = box.run(), box.run()
    for _ in range(2):
        box.launcher.end_unstarted(cancelled.run_id, "cancelled", "cancelled before it was started")
        box.launcher.end_unstarted(refused.run_id, "error", "needs 30 GB; the largest card has 24")
    assert (cancelled.read_summary().status, cancelled.read_summary().error) == ("cancelled", None)
    assert refused.read_summary().error == "needs 30 GB; the largest card has 24"
    assert box.end(cancelled) == RunEnd("cancelled")
    assert box.end(refused) == RunEnd("failed", "needs 30 GB; the largest card has 24")
    box.restart()
    assert box.end(cancelled) == RunEnd("cancelled")


def test_servers_are_the_server_launchers(box: Box) -> None:
    run = box.run()
    box.launcher.start_server(start_of(run).servers[0])
    box.launcher.stop_server("server:model@aa")
    assert box.servers.calls == ["start server:model@aa", "stop server:model@aa"]
