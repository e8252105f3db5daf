"""Pane 2: what waits, in its order and with its reason, below what runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style

from engine.control.queue_reports import GpuReport, QueueReport, RunningRun
from engine.control.reports import RunReport
from tui.actions import Fact
from tui.drawing import Piece
from tui.episode.inks import inked, text_of, wrapped
from tui.models import Snapshot, gigabytes
from tui.panes.run_copies import run_copies
from tui.panes.runs import run_facts
from tui.screens.base import Copies
from tui.table_model import Column, TableModel
from tui.widgets.virtual_table import GUTTER, VirtualTable, columns_that_fit


@dataclass(frozen=True)
class QueueRow:
    """position: 0 for a run that was let in. why: its reason with numbers, or where it runs."""

    run_id: str
    position: int
    graph_name: str
    priority: str
    workers: int
    needs: str
    why: str
    held: bool


def queue_rows(queue: QueueReport, gpus: Sequence[GpuReport] = ()) -> list[QueueRow]:
    """Those that run, then those that wait, in their order. gpus: by whose labels cards are called."""
    labels = {gpu.uuid: gpu.label for gpu in gpus}
    let_in = [
        QueueRow(
            run_id=run.run_id,
            position=0,
            graph_name=run.label or run.graph_name,
            priority=run.priority,
            workers=run.worker_count,
            needs=_amounts(_counted(queue, run)),
            why=_where(run, labels),
            held=False,
        )
        for run in queue.running
    ]
    waiting = [
        QueueRow(
            run_id=run.run_id,
            position=run.position,
            graph_name=run.label or run.graph_name,
            priority=run.priority,
            workers=run.worker_count,
            needs=_amounts(run.estimate_mb) + (" alone" if run.exclusive_gpu else ""),
            why=run.reason,
            held=run.held,
        )
        for run in queue.queued
    ]
    return [*let_in, *waiting]


class QueuePane(VirtualTable[QueueRow]):
    scope = ("runs",)
    opens = True

    def __init__(self) -> None:
        self._snapshot = Snapshot()
        columns: list[Column[QueueRow]] = [
            Column("position", "#", 3, lambda row: row.position, text=_place),
            Column("run", "run", 15, lambda row: row.run_id, text=lambda row: row.run_id[4:]),
            Column("why", "why it waits", 0, lambda row: row.why, least=40),
            Column("name", "graph", 14, lambda row: row.graph_name, drop=1),
            Column("priority", "prio", 6, lambda row: row.priority, drop=2),
            Column("workers", "w", 3, lambda row: row.workers, align="right", drop=3),
            Column("needs", "needs", 20, lambda row: row.needs, drop=4),
        ]
        super().__init__(TableModel(columns, lambda row: row.run_id))

    def title(self, snapshot: Snapshot) -> list[Piece]:
        queue = snapshot.queue
        text = f" {len(queue.running)} running, {len(queue.queued)} waiting"
        paused = [(" paused", self.drawing.warn)] if queue.paused else []
        old = [(" was", self.drawing.warn)] if snapshot.problem else []
        return [*old, (text, self.drawing.dim), *paused, *self.filter_pieces()]

    def show(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        resources = snapshot.resources
        rows = queue_rows(snapshot.queue, resources.gpus if resources else ())
        if rows != self.model.rows:
            self.set_rows(rows)

    def empty(self) -> str:
        return "nothing runs, and nothing waits"

    def line(self, y: int, width: int) -> Iterable[Piece]:
        whole = self._whole_reason(width)
        first = self.content_size.height - len(whole)
        return whole[y - first] if whole and y >= first else super().line(y, width)

    def _whole_reason(self, width: int) -> list[list[Piece]]:
        """Of the run under the cursor, for the last lines: where its own cuts it, and these are free."""
        row = self.model.current
        room = {column.key: cells for column, cells in columns_that_fit(self.model.columns, width - GUTTER)}
        if row is None or cell_len(row.why) <= room["why"]:
            return []
        lines = [text_of(line) for line in wrapped([inked(row.why)], width - 2 * GUTTER)]
        if len(lines) > self.content_size.height - 1 - len(self.model):
            return []
        return [[(" " * GUTTER + line, self.drawing.dim)] for line in lines]

    def moved(self) -> None:
        if self.active:
            self.activated()

    def activated(self) -> None:
        """The run under the cursor is the one that all panes tell of, while this one has the keys."""
        if self.model.current_id:
            self.centre.select(self.model.current_id)

    @property
    def run(self) -> RunReport | None:
        """The one under the cursor."""
        return self._snapshot.find(self.model.current_id)

    def facts(self) -> set[Fact]:
        return super().facts() | run_facts(self.run, self._snapshot)

    def copies(self) -> Copies:
        return run_copies(self.run, self.centre.rest) if self.run is not None else {}

    def row_style(self, row: QueueRow) -> Style:
        return Style(dim=True) if row.held else Style.null()


def _place(row: QueueRow) -> str:
    return f"{row.position}" if row.position else "run"


def _where(run: RunningRun, labels: Mapping[str, str]) -> str:
    if run.cancel_requested:
        return "ending"
    if run.cluster is not None:
        why = run.cluster.why  # what is wrong comes before where that is
        return f"{why}; {run.cluster.told}" if why else run.cluster.told
    cards = f"on GPU {', '.join(labels.get(gpu, gpu[:12]) for gpu in run.gpus)}" if run.gpus else "runs"
    return cards + (f", with {', '.join(run.servers)}" if run.servers else "")


def _counted(queue: QueueReport, run: RunningRun) -> dict[str, float]:
    """What it holds and is yet to take; what it was let in with, until that is known."""
    holds, reserved = queue.holds_mb(run.run_id), queue.reserved_mb(run.run_id)
    names = sorted({*holds, *reserved}, reverse=True)
    return {name: holds.get(name, 0.0) + reserved.get(name, 0.0) for name in names} or dict(run.admit_charges)


def _amounts(amounts: dict[str, float | None] | dict[str, float]) -> str:
    return ", ".join(f"{what} {gigabytes(mb)}" for what, mb in amounts.items())
