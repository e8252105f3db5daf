"""Stands in for the run process, with six kinds of descendants below it, and ends as the selector ``fake``
says. Told to end, it does what the real one does. ``gate``: it ends once there is a file ``go`` in its
folder; ``stays``: it is there still when its result is.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from engine.store.atomic import write_json
from engine.store.jsonl import LineAppender
from engine.store.records import Progress, RunStatus, WorkerProgress, now_iso
from engine.store.rundir import RunDir
from engine.store.runs import read_rows
from tests.fakes.family import start_family
from tests.fakes.finished_runs import fake_row

FAMILY = "family.json"
GATE = "go"


def main() -> None:
    run = RunDir(Path(sys.argv[2]))
    behaviour = run.read_spec().eval.selectors.get("fake", "finish")
    told = threading.Event()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if behaviour == "deaf" else lambda *_: told.set())
    appender = LineAppender(run.episode_rows)
    appender.append(fake_row(len(read_rows(run))))
    _write(run, "running", None)
    start_family(run.path / FAMILY)
    worker = WorkerProgress(worker_id=0, state="running", step=3)
    write_json(run.progress, Progress(run_id=run.run_id, updated_at=now_iso(), workers=[worker]))
    if behaviour == "crash":
        os._exit(3)
    if behaviour in ("hang", "deaf"):
        told.wait()
        _stop(run)
    while behaviour == "gate" and not (run.path / GATE).exists():
        if told.wait(0.05):
            _stop(run)
    if behaviour == "stays":
        _write(run, "completed", None)
        run.mark_done()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        threading.Event().wait()
    elif behaviour == "fail":
        _finish(run, "error", "no such thing")
    else:
        _finish(run, "completed", None)


def _stop(run: RunDir) -> None:
    job = run.read_job()
    if job.cancel_requested_at is None:
        _write(run, "aborted", "SIGTERM")
        os._exit(1)
    _finish(run, "error" if job.stop_reason else "cancelled", job.stop_reason or None)


def _finish(run: RunDir, status: RunStatus, error: str | None) -> None:
    _write(run, status, error)
    run.mark_done()
    os._exit(0)


def _write(run: RunDir, status: RunStatus, error: str | None) -> None:
    summary = run.read_summary()
    summary.status, summary.error = status, error
    summary.episodes = read_rows(run)
    summary.completed_count = len(summary.episodes)
    write_json(run.summary, summary)


if __name__ == "__main__":
    main()
