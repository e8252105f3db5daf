"""Ending a run: asked first, killed when it does not listen."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress

from engine.control.reports import AlreadyOverError
from engine.store.atomic import write_json
from engine.store.process_identity import ProcessIdentity, is_alive, send_signal
from engine.store.records import now_iso
from engine.store.rundir import RunDir
from engine.store.runs import read_rows, view_run

KILL_WAIT_SEC = 10.0


def cancel_run(run: RunDir, grace_sec: float) -> None:
    """SIGTERM, ``grace_sec`` seconds, SIGKILL of the run's whole process group; then its files are closed
    off.

    The run's hosts die with it. AlreadyOverError where the run has ended.
    """
    status = view_run(run).status
    if status not in ("pending", "running"):
        raise AlreadyOverError(f"run {run.run_id} is over already: {status}")
    job = run.read_job()
    job.cancel_requested_at = job.cancel_requested_at or now_iso()
    write_json(run.job, job)
    if job.state == "started" and job.process is not None:
        send_signal(job.process, signal.SIGTERM)
        if not _wait_for_end(job.process, grace_sec):
            _kill_group(job.process)
            _wait_for_end(job.process, KILL_WAIT_SEC)
    if not run.is_done():
        _close_off(run)


def _wait_for_end(process: ProcessIdentity, seconds: float) -> bool:
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    try:
        # A pidfd is readable once its process has ended, reaped or not.
        return not is_alive(process) or bool(select.select([descriptor], [], [], max(0.0, seconds))[0])
    finally:
        os.close(descriptor)


def _kill_group(process: ProcessIdentity) -> None:
    # The leader is alive here, so that its group's number cannot belong to anyone else.
    if is_alive(process):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _close_off(run: RunDir) -> None:
    """Write what a killed run could not: its rows so far, status ``cancelled``, ``_DONE``."""
    summary = run.read_summary()
    summary.episodes = read_rows(run)
    summary.completed_count = len(summary.episodes)
    summary.error_count = sum(row.status == "error" for row in summary.episodes)
    summary.status = "cancelled"
    summary.finished_at = now_iso()
    write_json(run.summary, summary)
    run.mark_done()
