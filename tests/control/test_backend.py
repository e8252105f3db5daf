"""One backend a root, and what it finds there when it starts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.control.plans import plan_run
from engine.control.reports import NoBackendError, StartRequest
from engine.control.start import write_run
from engine.store.atomic import write_json
from engine.store.backend_lock import BackendAliveError, BackendLock, live_backend, lock_path
from engine.store.process_identity import ProcessIdentity, identity
from engine.store.records import Job
from engine.store.rundir import RunDir, create_run_dir
from engine.store.runs import view_run
from engine.store.settings import Admission
from tests.control.waiting import wait_for, wait_until_over, wait_until_running
from tests.fakes.finished_runs import make_run
from tests.fakes.live_backend import LiveControl, live


def request(behaviour: str = "finish", **more: object) -> StartRequest:
    fields = {"graph_name": "toy", "selectors": {"fake": behaviour}, "marginal_vram_mb": 0.0, **more}
    return StartRequest(**fields)  # type: ignore[arg-type]


def queue_file(root: Path) -> Path:
    return root / "outputs" / "system" / "queue.json"


def left_behind(root: Path, **job: Any) -> RunDir:
    """A run whose folder is whole, and that is in nobody's queue."""
    run, _ = write_run(root, plan_run(root, request()))
    write_json(run.job, msgspec.structs.replace(run.read_job(), **job))
    return run


def told(control: LiveControl) -> str:
    return "\n".join(control.backend().notices)


def test_a_second_backend_is_refused_and_told_who_has_the_root(root: Path) -> None:
    with live(root) as first:
        with pytest.raises(BackendAliveError, match=str(identity().pid)) as refused:
            BackendLock.acquire(root)
        assert refused.value.report == first.live.record
        assert live_backend(root) == first.live.record
    BackendLock.acquire(root).close()


def test_what_it_says_of_itself_is_for_this_user_alone(control: LiveControl) -> None:
    control.live.announce("http://127.0.0.1:1", "/tmp/x.sock")
    path = control.root / "outputs" / "backend.json"
    assert path.stat().st_mode & 0o777 == 0o600
    said = json.loads(path.read_text())
    assert (said["url"], said["socket"], said["root"]) == (
        "http://127.0.0.1:1",
        "/tmp/x.sock",
        str(control.root),
    )
    assert (said["successor"], said["ended_at"]) == (None, None)


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: (path.unlink(), path.touch())])
def test_without_its_lock_it_starts_nothing_more_and_says_so(
    root: Path, harm: Callable[[Path], object]
) -> None:
    with live(root) as control:
        harm(lock_path(root))
        wait_for(lambda: "backend.lock" in told(control), "the notice")
        with pytest.raises(NoBackendError, match=r"backend\.lock was removed"):
            control.start(request())
        with live(root) as next_one:
            assert wait_until_over(next_one, next_one.start(request())).status == "completed"


def test_one_that_has_ended_holds_no_file(root: Path) -> None:
    with live(root):
        pass  # what is opened once for the whole process is open now
    before = len(list(Path("/proc/self/fd").iterdir()))
    with live(root):
        pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_an_inherited_lock_goes_on(root: Path) -> None:
    import os

    lock = BackendLock.acquire(root)
    passed = os.dup(lock.fd)
    lock.close()
    adopted = BackendLock.adopt(root, passed)
    assert adopted.still_ours()
    assert not os.get_inheritable(adopted.fd)
    with pytest.raises(BackendAliveError):
        BackendLock.acquire(root)
    adopted.close()


def test_a_queue_that_cannot_be_read_is_kept_and_its_runs_are_queued_from_their_folders(root: Path) -> None:
    with live(root, leave=True) as control:
        control.pause()
        queued = [control.start(request(label=f"run {n}")) for n in range(3)]
    queue_file(root).write_text('{"jobs": [torn')
    with live(root) as control:
        kept = list(queue_file(root).parent.glob("queue.json.unreadable-*"))
        assert [path.read_text() for path in kept] == ['{"jobs": [torn']
        assert kept[0].name in told(control)
        assert "evaltower unpause" in told(control)
        assert control.queue().paused
        control.unpause()
        for run in queued:
            wait_until_over(control, run)
        assert {control.show(run).status for run in queued} == {"completed"}


def test_a_run_that_was_whole_and_not_answered_is_queued(root: Path) -> None:
    run = left_behind(root)
    assert view_run(run).status == "pending"
    with live(root) as control:
        assert wait_until_over(control, run.run_id).status == "completed"
        assert "queued again" in told(control)


@pytest.mark.parametrize(
    "missing",
    [
        ("summary.json",),
        ("summary.json", "spec.json"),
        ("job.json", "spec.json", "summary.json", "shared_urls.json"),
    ],
)
def test_a_run_that_was_being_written_goes(root: Path, missing: tuple[str, ...]) -> None:
    run = left_behind(root)
    for name in missing:
        (run.path / name).unlink()
    with live(root) as control:
        assert control.runs() == []
        assert not run.path.exists()


def elsewhere(**changes: Any) -> ProcessIdentity:
    return msgspec.structs.replace(identity(), pid=999_999_999, **changes)


@pytest.mark.parametrize(
    ("process", "state"),
    [
        (elsewhere(host="another"), "queued"),
        (elsewhere(host="another", boot_id="b"), "started"),
        (elsewhere(boot_id="earlier"), "started"),
        (elsewhere(pid_ns="pid:[1]"), "started"),
    ],
)
def test_what_runs_elsewhere_is_not_touched(root: Path, process: ProcessIdentity, state: str) -> None:
    run = left_behind(root, process=process, state=state)
    before = {path.name: path.read_bytes() for path in run.path.iterdir()}
    with live(root) as control:
        assert wait_until_over(control, control.start(request())).status == "completed"
        assert {path.name: path.read_bytes() for path in run.path.iterdir()} == before
        assert control.queue().queued == []


def test_what_was_let_in_and_runs_elsewhere_is_let_go_of(root: Path) -> None:
    run = left_behind(root)
    with live(root) as control:
        wait_for(lambda: control.live.is_idle, "its end")
    admitted = json.loads(queue_file(root).read_text())
    job = Job(run_id=run.run_id, state="started", process=elsewhere(host="another", boot_id="b"))
    run.done.unlink()
    write_json(run.job, job)
    seated = {
        "owner": run.run_id,
        "server": None,
        "load": True,
        "cards": [],
        "visible": None,
        "claims": {},
        "after_sec": 0.0,
    }
    start = {
        "run_id": run.run_id,
        "run": seated,
        "servers": [],
        "basis": {},
        "cold": False,
        "exclusive": False,
        "workers": 1,
    }
    need = {"graph_name": "toy", "graph_hash": "0"}
    queued = {"run_id": run.run_id, "sequence": 1, "need": need}
    admitted["admitted"] = [{"job": queued, "start": start, "at": 1.0}]
    queue_file(root).write_text(json.dumps(admitted))
    with live(root) as control:
        assert "another" in told(control)
        assert control.live.is_idle
        assert run.read_job() == job


def test_a_run_that_died_alone_is_aborted(root: Path) -> None:
    run = left_behind(root, process=elsewhere(), state="started")
    with live(root) as control:
        report = wait_until_over(control, run.run_id)
        assert report.status == "aborted"
        assert run.is_done()
        assert "no backend lived" in str(report.summary.error)


def test_another_run_s_folder_and_a_stray_folder_stay(root: Path) -> None:
    stray, older = create_run_dir(root), make_run(root)
    (stray.path / "notes.txt").write_text("mine")
    for path in (older.done, older.job):
        path.unlink()
    with live(root):
        assert (stray.path / "notes.txt").read_text() == "mine"
        assert older.read_summary().completed_count == 2


def test_told_to_end_it_takes_nothing_in(root: Path) -> None:
    with live(root, admission=Admission(grace=1.0)) as control:
        run = control.start(request("deaf"))
        wait_until_running(control, run)
        control.stop_backend()
        assert control.live.may_end
        assert control.backend().state == "ending"
        with pytest.raises(NoBackendError, match="ending"):
            control.start(request())
        control.stop_backend(cancel=True)
        assert not control.live.may_end
        wait_for(lambda: control.live.may_end, "the end of its runs")
        assert control.show(run).status == "cancelled"


def test_a_tick_that_fails_is_tried_again(control: LiveControl, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[int] = []

    def fail() -> None:
        failed.append(1)
        raise RuntimeError("once")

    monkeypatch.setattr(control.live.scheduler, "tick", fail)
    wait_for(lambda: len(failed) > 1, "two ticks")
    monkeypatch.undo()
    assert control.live.scheduler.tick != fail
