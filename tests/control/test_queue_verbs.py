"""What an operator does to the queue, over a live backend and real processes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from engine.cli.progress import Pace, describe
from engine.control.reports import ConflictError, RefusedError, StillAliveError
from engine.control.waiting_notes import EVERY_SEC, WaitingNotes
from engine.scheduling.reasons import Reason
from engine.store.atomic import write_json
from engine.store.backend_lock import record_path
from engine.store.process_identity import identity
from engine.store.rundir import RunDir
from tests.control.test_backend import request
from tests.control.waiting import wait_for, wait_until_over, wait_until_running
from tests.fakes.live_backend import LiveControl, live


def folder(control: LiveControl, run: str) -> RunDir:
    return RunDir(Path(control.show(run).path))


def order(control: LiveControl) -> list[str]:
    return [run.run_id for run in control.queue().queued]


def waits(control: LiveControl, run: str) -> str:
    return next((queued.code for queued in control.queue().queued if queued.run_id == run), "")


def test_order_and_priority(control: LiveControl) -> None:
    control.pause()
    low, first, second = (control.start(request(priority=p)) for p in ("low", "normal", "normal"))
    high = control.start(request(priority="high"))
    assert order(control) == [high, first, second, low]
    assert [run.position for run in control.queue().queued] == [1, 2, 3, 4]
    assert control.move(second, 1) == 1
    assert control.prioritize(low, "high") == 1  # it is the oldest
    assert order(control) == [low, second, high, first]
    wait_for(lambda: {waits(control, run) for run in order(control)} == {"queue_paused"}, "reasons")
    control.unpause()
    for run in (low, first, second, high):
        assert wait_until_over(control, run).status == "completed"


def test_one_that_is_held_waits_while_others_pass(control: LiveControl) -> None:
    control.pause()
    held, other = control.start(request()), control.start(request())
    control.hold(held)
    control.unpause()
    assert wait_until_over(control, other).status == "completed"
    assert waits(control, held) == "held"
    wait_for(lambda: "an operator holds it" in folder(control, held).read_job().reason, "the reason on disk")
    [listed] = control.runs(status="pending")
    assert control.show(held).waits == listed.waits == "an operator holds it"
    assert describe(listed, Pace()) == "waits: an operator holds it"
    control.release(held)
    assert wait_until_over(control, held).status == "completed"
    for verb in (control.hold, control.release):
        with pytest.raises(ConflictError, match="not queued"):
            verb(held)
    with pytest.raises(ConflictError, match="not queued"):
        control.move(held, 1)
    with pytest.raises(ConflictError, match="not queued"):
        control.prioritize(held, "low")


def test_every_run_that_waits_says_why_from_the_first_moment(root: Path) -> None:
    with live(root, leave=True) as control:
        control.pause()
        runs = [control.start(request()) for _ in range(3)]
        assert all(run.reason for run in control.queue().queued)
        assert all(control.show(run).waits for run in runs)
        wait_for(lambda: control.show(runs[2]).waits == "the queue is paused", "the reason")
    job = folder(control, runs[0]).read_job()
    job.process = msgspec.structs.replace(identity(), start_ticks=1)
    write_json(folder(control, runs[0]).job, job)
    record_path(root).unlink()
    assert control.show(runs[0]).waits == "no backend serves this root: evaltower --serve takes it up"


def test_it_waits_for_what_it_depends_on(control: LiveControl) -> None:
    first = control.start(request("hang", label="first"))
    second = control.start(request(depends_on=["first"]))
    wait_for(lambda: waits(control, second) == "dependency", "its reason")
    assert control.queue().queued[0].depends_on == [first]
    control.cancel(first, 5.0)
    wait_for(lambda: waits(control, second) == "dependency_failed", "the failure")
    control.cancel(second)
    third = control.start(request("nap"))
    assert wait_until_over(control, control.start(request(depends_on=[third]))).status == "completed"
    assert control.show(third).status == "completed"


@pytest.mark.slow
def test_a_time_limit_ends_it_as_an_error(control: LiveControl) -> None:
    report = wait_until_over(control, control.start(request("deaf", timeout_sec=0.2)))
    assert report.status == "error"
    assert "time limit" in str(report.summary.error)


def test_what_the_box_fails_is_tried_again(control: LiveControl) -> None:
    run = control.start(request("crash", retries=1))
    wait_for(lambda: waits(control, run) == "backoff", "the pause before the next try")
    assert control.show(run).status == "pending"
    assert "exit code 3" in control.queue().queued[0].reason
    control.cancel(run)
    assert control.show(run).status == "cancelled"


def test_a_run_is_resumed_in_a_new_attempt(control: LiveControl) -> None:
    run = control.start(request("hang"))
    wait_until_running(control, run)
    for verb in (control.resume, control.delete):
        with pytest.raises(StillAliveError, match="queued or runs"):
            verb(run)
    control.cancel(run, 5.0)
    wait_for(lambda: control.live.is_idle, "its end")
    before = folder(control, run).read_job()
    control.pause()
    control.resume(run, errors=True)
    job = folder(control, run).read_job()
    assert (job.attempt, job.state, job.cancel_requested_at, job.rerun_errors) == (2, "queued", None, True)
    assert job.token != before.token
    assert control.show(run).status == "pending"
    assert not folder(control, run).is_done()
    control.unpause()
    wait_for(lambda: control.show(run).status == "running", "its start")
    control.cancel(run, 5.0)
    wait_for(lambda: control.live.is_idle, "its end")
    assert (folder(control, run).attempt(2) / "exit.json").exists()


def test_there_is_nothing_to_resume_of_what_is_complete(control: LiveControl) -> None:
    run = control.start(request())
    wait_until_over(control, run)
    wait_for(lambda: control.live.is_idle, "its end")
    with pytest.raises(ConflictError, match="every episode has its row"):
        control.resume(run)
    assert control.show(run).status == "completed"
    control.delete(run)
    assert control.runs() == []
    assert list((control.root / "outputs" / "eval_runs").iterdir()) == []


def test_a_link_among_the_runs_is_deleted_and_not_what_it_leads_to(
    control: LiveControl, tmp_path: Path
) -> None:
    run = control.start(request())
    wait_until_over(control, run)
    wait_for(lambda: control.live.is_idle, "its end")
    path = folder(control, run).path
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    control.delete(run)
    assert not path.is_symlink()
    assert (tmp_path / "moved" / "summary.json").exists()


def test_an_impossible_run_is_refused(control: LiveControl) -> None:
    wait_for(lambda: not control.resources().problems, "the first sample")
    with pytest.raises(RefusedError, match=r"asks for GPU 77; this machine has "):
        control.start(request(gpus=["77"]))
    assert control.runs() == []


def test_an_estimate_starts_nothing(control: LiveControl) -> None:
    wait_for(lambda: not control.resources().problems, "the first sample")
    report = control.estimate("toy", 2)
    assert (report.graph_name, report.fits, report.gpus) == ("toy", True, [])
    assert report.resources["ram"].estimate_mb is not None
    assert control.runs() == []
    with pytest.raises(RefusedError):
        control.estimate("toy", 0)


def test_a_cancel_outlives_the_backend_and_pauses_do_too(root: Path) -> None:
    with live(root) as control:
        control.pause()
        run = control.start(request())
    assert control.show(run).status == "cancelled"
    with live(root) as control:
        assert control.queue().paused


def test_reasons_are_written_when_their_code_changes_and_else_now_and_then(control: LiveControl) -> None:
    control.pause()
    run = folder(control, control.start(request()))
    wait_for(lambda: bool(run.read_job().reason), "the backend's own word, which it does not repeat")
    now = [100.0]
    notes = WaitingNotes(control.root, identity(), clock=lambda: now[0])

    def noted(reason: Reason) -> str:
        with control.live.reading():
            notes.write({run.run_id: reason})
            return run.read_job().reason

    assert noted(Reason("ram", "needs 3.0 GB")) == "ram: needs 3.0 GB"
    assert noted(Reason("ram", "needs 3.1 GB")) == "ram: needs 3.0 GB"
    assert noted(Reason("held", "an operator holds it")) == "held: an operator holds it"
    now[0] += EVERY_SEC
    assert noted(Reason("held", "someone holds it")) == "held: someone holds it"
    run.job.write_text("{torn")
    now[0] += EVERY_SEC
    assert noted(Reason("held", "still")) == "held: still"
    assert run.read_job().token
