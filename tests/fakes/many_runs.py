"""Thousands of finished runs on disk, fast: copies of one, without an fsync each."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from engine.store.rundir import RunDir
from tests.fakes.finished_runs import fake_row, make_run

FIRST = datetime(2026, 1, 1)
FILES = ("spec.json", "job.json", "summary.json", "_DONE")


def make_many_runs(root: Path, count: int, episodes: int = 2) -> list[RunDir]:
    """``count`` finished runs, a minute apart, the oldest first; ``episodes``: rows in each summary.json."""
    first = make_run(root, now=FIRST, rows=[fake_row(index) for index in range(episodes)])
    texts = {name: (first.path / name).read_text() for name in FILES}
    runs = [first]
    for number in range(1, count):
        run_id = (FIRST + timedelta(minutes=number)).strftime("%Y%m%d_%H%M%S")
        run = RunDir(first.path.with_name(run_id))
        run.path.mkdir()
        for name, text in texts.items():
            (run.path / name).write_text(text.replace(first.run_id, run_id))
        runs.append(run)
    return runs
