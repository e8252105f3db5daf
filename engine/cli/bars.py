"""A run on a terminal: one bar a worker under one for all."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from engine.cli.progress import Pace, fare
from engine.text import visible

if TYPE_CHECKING:
    from engine.control.reports import RunReport
    from engine.store.records import WorkerProgress

REFRESH_A_SEC = 8
BAR_WIDTH = 16


@contextmanager
def bars() -> Iterator[Bars]:
    """Bars on stderr; they vanish at the end, where the result is printed."""
    console = Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")), highlight=False, emoji=False)
    with Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, min_width=9)),
        BarColumn(BAR_WIDTH, table_column=Column(min_width=BAR_WIDTH)),
        TextColumn(
            "{task.fields[count]:>7} {task.fields[now]}",
            markup=False,
            table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
        ),
        console=console,
        expand=True,
        transient=True,
        refresh_per_second=REFRESH_A_SEC,
    ) as progress:
        yield Bars(progress)


class Bars:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def show(self, report: RunReport, pace: Pace, waiting: str) -> None:
        summary = report.summary
        now = waiting or fare(report, pace)
        self._show("all", summary.completed_count, summary.total_episodes, now)
        for worker in report.progress.workers if report.progress else []:
            name = f"worker {worker.worker_id}"
            self._show(name, worker.episodes_done, worker.episodes_total, doing(worker))

    def _show(self, name: str, done: int, total: int, now: str) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=1, count="", now="")
        count = f"{done}/{total}" if total else ""
        self._progress.update(
            self._tasks[name], completed=done, total=total or 1, count=count, now=visible(now)
        )


def doing(worker: WorkerProgress) -> str:
    """What a worker does now, and for how long where that is worth a look."""
    if worker.state == "done":
        return "done"
    if worker.state == "starting" or worker.episode_index is None:
        return f"{worker.state}{_since(worker)}"
    task = f" {worker.task}" if worker.task and worker.task != "_default" else ""
    if worker.state == "resetting":
        return f"episode {worker.episode_index}{task}: resetting{_since(worker)}"
    budget = f"/{worker.budget}" if worker.budget else ""
    return f"episode {worker.episode_index}{task}: step {worker.step}{budget} {worker.node}{_since(worker)}"


def _since(worker: WorkerProgress) -> str:
    """For how long, once that is worth a look."""
    if not worker.since:
        return ""
    seconds = time.time() - datetime.fromisoformat(worker.since).timestamp()
    return f", {seconds:.0f} s" if seconds >= 2 else ""
