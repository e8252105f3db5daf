"""Stands in for the run process: reads spec.json and ends as the selector ``fake`` says."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from engine.store.atomic import write_json
from engine.store.environment_record import EnvironmentRecord
from engine.store.jsonl import LineAppender
from engine.store.records import RunStatus, now_iso
from engine.store.rundir import RunDir
from engine.store.runs import read_rows
from tests.fakes.finished_runs import fake_row

NAP_SEC = 0.4


def main() -> None:
    run = RunDir(Path(sys.argv[2]))
    behaviour = run.read_spec().eval.selectors.get("fake", "finish")
    told = threading.Event()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if behaviour == "deaf" else lambda *_: told.set())
    write_json(run.environment, EnvironmentRecord(run_id=run.run_id))
    appender = LineAppender(run.episode_rows)
    appender.append(fake_row(0))
    write_status(run, "running", total=2)
    if behaviour == "crash":
        print("Segmentation \x1b[31mfault", file=sys.stderr, flush=True)
        os._exit(3)
    if behaviour in ("hang", "deaf"):
        told.wait()
        finish(run, "cancelled")
    if behaviour == "nap" and told.wait(NAP_SEC):
        finish(run, "cancelled")
    appender.append(fake_row(1))
    finish(run, "completed")


def write_status(run: RunDir, status: RunStatus, total: int) -> None:
    summary = run.read_summary()
    summary.status = status
    summary.started_at = now_iso()
    summary.total_episodes = total
    summary.episodes = read_rows(run)
    summary.completed_count = len(summary.episodes)
    write_json(run.summary, summary)


def finish(run: RunDir, status: RunStatus) -> None:
    write_status(run, status, total=2)
    run.mark_done()
    sys.exit(0)


if __name__ == "__main__":
    main()
