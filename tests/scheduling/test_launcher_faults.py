from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from engine.scheduling.launchers import closing, local, spawning
from engine.scheduling.launching import RunEnd
from engine.store.atomic import write_json
from engine.store.attempts import Attempt
from engine.store.process_identity import identity, is_alive, send_signal
from engine.store.rundir import RunDir
from engine.store.runs import view_run
from tests.fakes.family import living, read_family
from tests.fakes.family_run import FAMILY
from tests.scheduling.launching import (
    GRACE,
    ORPHAN_GRACE,
    Box,
    no_open_files_left,
    run_processes,
    wait_for,
    wait_until_all_are_gone,
)

MORE = 2.0


def test_a_shim_that_cannot_begin(box: Box, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "shim.py"
    broken.write_text("raise SystemExit('out of order')")
    monkeypatch.setattr(spawning, "SHIM", broken)
    run = box.run()
    box.start(run)
    end = box.end(run)
    assert end is not None
    assert (end.outcome, "before it began" in end.message) == ("infra", True)
    assert run.read_summary().status == "aborted"
    assert (run.path / "stderr.log").read_text() == "out of order\n"


def test_nobody_is_signalled_for_a_shim_of_the_same_pid(box: Box) -> None:
    """A forged shim.json, or a pid that passed on: the process that has it now is a stranger."""
    run = box.run()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        here = identity(stranger.pid)
        attempt = Attempt.of(run.path, 1)
        attempt.lay_out()
        forged = msgspec.structs.replace(here, start_ticks=here.start_ticks - 1)
        write_json(attempt.path / "shim.json", {"process": forged})
        job = run.read_job()
        job.state, job.process = "started", forged
        write_json(run.job, job)
        box.launcher.stop_run(run.run_id, "cancelled", 0.0)
        assert box.end(run) == RunEnd("cancelled")
        assert is_alive(here)
        stranger.communicate(b"\n")


@pytest.mark.parametrize(
    ("field", "value", "gone"),
    [("host", "elsewhere", False), ("pid_ns", "pid:[1]", False), ("boot_id", "x", True)],
)
def test_a_shim_that_cannot_be_seen_from_here(box: Box, field: str, value: str, gone: bool) -> None:
    """After a restart of this host it is gone; one of another host or container has its time to end."""
    run = box.run()
    attempt = Attempt.of(run.path, 1)
    attempt.lay_out()
    changes = {field: value} | ({"boot_id": "x"} if field == "host" else {})
    there = msgspec.structs.replace(identity(), **changes)
    write_json(attempt.path / "shim.json", {"process": there})
    job = run.read_job()
    job.state, job.process = "started", there
    write_json(run.job, job)
    state = box.launcher.poll([run.run_id], []).runs[run.run_id]
    assert (state.end is not None) == gone
    if not gone:
        write_json(attempt.path / "exit.json", {"rc": 0, "stopped_by": "orphaned"})
        end = box.end(run)
        assert end is not None
        assert "no backend lived" in end.message
    assert run.read_summary().status == "aborted"


def test_runs_without_a_backend(box: Box) -> None:
    with subprocess.Popen(["sleep", "300"]) as backend:
        box.says(identity(backend.pid))
        run, family = box.started()
        backend.kill()
        backend.wait()
    assert wait_for(lambda: not living(family), "their end") < ORPHAN_GRACE + GRACE + MORE
    box.says(identity())
    box.restart()
    end = box.end(run)
    assert end is not None
    assert (end.outcome, run.read_summary().status, run.is_done()) == ("infra", "aborted", True)


def killed(box: Box, run: RunDir) -> bool:
    return any(send_signal(process, signal.SIGKILL) for process in run_processes(box, run))


@pytest.mark.slow
@pytest.mark.parametrize("what", ["cancel", "cancel by the next backend", "command", "shim"])
def test_whenever_it_happens_nothing_is_left_and_the_end_is_told_right(box: Box, what: str) -> None:
    """20 runs are cancelled, or lose their command or shim, at moments from their start to their end."""
    chance = random.Random(4)
    statuses = {"cancelled" if what.startswith("cancel") else "aborted", "completed"}
    for _ in range(20):
        run = box.run(chance.choice(["finish", "hang", "deaf"]))
        box.start(run)
        time.sleep(chance.uniform(0.0, 0.4))
        if what == "command":
            wait_for(lambda run=run: killed(box, run) or Attempt.of(run.path, 1).read_exit(), "its command")
        elif what == "shim":
            send_signal(box.shim(run), signal.SIGKILL)
        else:
            if what.endswith("backend"):
                box.restart()
            box.launcher.stop_run(run.run_id, "cancelled", 0.0)
        box.end(run)
        assert not set(living(read_family(run.path / FAMILY))) - ({"bare"} if what == "shim" else set())
        assert view_run(run).status in statuses
        assert run.is_done()


def test_a_cancel_without_any_open_file_left(box: Box) -> None:
    run, family = box.started("deaf")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    box.launcher.poll([run.run_id], [])
    most = max(map(int, os.listdir("/proc/self/fd")))  # what is kept back must lie below the limit
    resource.setrlimit(resource.RLIMIT_NOFILE, (most + 64, hard))
    try:
        with no_open_files_left():
            box.launcher.stop_run(run.run_id, "cancelled")
            began = time.monotonic()
            assert box.end(run) == RunEnd("cancelled")
            assert time.monotonic() - began < GRACE + MORE
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert not living(family)
    assert run.read_summary().status == "cancelled"


def test_a_cancel_that_cannot_be_written_is_heeded(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    run, family = box.started("deaf")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(local, "write_json", refuse)
        full.setattr("engine.scheduling.launchers.closing.write_json", refuse)
        box.launcher.stop_run(run.run_id, "cancelled")
        assert wait_until_all_are_gone(box, run, family) < GRACE + MORE
        assert box.launcher.poll([run.run_id], []).runs[run.run_id].end is None, "it is not written yet"
    assert box.end(run) == RunEnd("cancelled")
    assert run.is_done()


def test_the_processes_of_a_run_whose_folder_is_gone_are_still_known(box: Box) -> None:
    run, family = box.started()
    box.launcher.poll([run.run_id], [])
    run.job.write_text("{")
    assert box.launcher.poll([run.run_id], []).runs[run.run_id].end is None
    box.launcher.stop_run(run.run_id, "cancelled")
    end = box.end(run)
    assert end is not None
    assert (end.outcome, "job.json cannot be read" in end.message) == ("failed", True)
    assert not living(family)


def test_an_unreadable_summary_is_left_as_it_is(box: Box) -> None:
    run, _ = box.started("deaf")
    run.summary.write_text("{")
    box.launcher.stop_run(run.run_id, "cancelled", 0.0)
    assert box.end(run) == RunEnd("cancelled")
    assert run.summary.read_text() == "{"
    assert not run.is_done()
    assert run.read_job().state == "ended"


def test_a_root_with_a_long_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "RUN_PROCESS", "tests.fakes.family_run")
    long = tmp_path / ("r" * max(1, 150 - len(str(tmp_path)) - 1))
    box = Box(long)
    try:
        run = box.run("finish")
        box.start(run)
        assert box.end(run) == RunEnd("completed")
    finally:
        box.close()
