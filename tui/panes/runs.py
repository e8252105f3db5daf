"""Pane 1: every run of the root, newest first, as it stands."""

from __future__ import annotations

from collections.abc import Callable

from rich.style import Style

from engine.control.queue_reports import QueuedRun
from engine.control.reports import RunReport
from engine.statistics.error_groups import lost_in_short
from engine.text import one_line
from tui.actions import Fact
from tui.drawing import Piece
from tui.models import Snapshot, duration, headline_of, run_outcome, short_headline
from tui.models_scoring import waiting_in
from tui.panes.run_copies import run_copies
from tui.screens.base import Copies
from tui.table_model import Column, TableModel
from tui.widgets.virtual_table import VirtualTable

WIDE = 100
"""Cells from which on a result is told in full."""


class RunsPane(VirtualTable[RunReport]):
    """The run under the cursor is the one that all other panes tell of."""

    scope = ("runs",)
    opens = True

    def __init__(self) -> None:
        self._snapshot = Snapshot()
        self._sought = ""
        columns = self._columns(wide=True)
        super().__init__(TableModel(columns, lambda run: run.run_id, is_fault=self._is_fault))

    def _columns(self, *, wide: bool) -> list[Column[RunReport]]:
        """wide: with the whole interval of the result, and its metric's name."""
        result = (30, headline_of) if wide else (11, short_headline)
        return [
            Column("state", "", 1, lambda run: run.status, text=self._glyph, style=self._glyph_style),
            Column("run", "run", 13, lambda run: run.run_id, text=lambda run: run.run_id[4:]),
            Column("name", "graph", 0, _name, text=_name if wide else _short_name, least=7),
            Column("status", "status", 9, self._status, drop=5),
            Column("done", "done", 8, _share, text=_done, align="right", drop=2),
            Column("left", "left", 6, self._left, text=self._left_text, align="right", drop=4),
            Column("errors", "err", 3, _error_count, text=_errors, align="right", drop=1),
            Column(
                "result", "result", result[0], _mean, text=lambda run: self._result(run, result[1]), drop=3
            ),
            Column("time", "time", 7, lambda run: run.summary.elapsed_sec, text=_time, align="right", drop=6),
        ]

    def on_resize(self) -> None:
        self.model.columns = tuple(self._columns(wide=self.content_size.width >= WIDE))

    def seek(self, run_id: str) -> None:
        """Put the cursor on this run as soon as it is listed."""
        self._sought = run_id

    def title(self, snapshot: Snapshot) -> list[Piece]:
        more = "" if snapshot.listed else "+"
        return [(f" {self.counts()}{more}", self.drawing.dim), *self.filter_pieces()]

    def show(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.set_rows(snapshot.runs)
        if self._sought and self.model.move_to_id(self._sought):
            self._sought = ""
            self.go_to(self.model.at)

    def empty(self) -> str:
        if self.model.rows:
            return "no run passes the filter: esc clears it"
        return "no runs yet: n starts one" if self._snapshot.seq else "reading…"

    def moved(self) -> None:
        self.activated()

    def activated(self) -> None:
        """The run under the cursor is the one that all panes tell of."""
        self.centre.select(self.model.current_id or None)

    def facts(self) -> set[Fact]:
        """Of what is marked, as far as it is true of any; else of what is under the cursor."""
        return super().facts().union(*(run_facts(run, self._snapshot) for run in self.model.targets))

    def copies(self) -> Copies:
        run = self.model.current
        return run_copies(run, self.centre.rest) if run is not None else {}

    def row_style(self, row: RunReport) -> Style:
        return (
            Style(dim=True) if row.run_id not in self._alive() and row.status == "cancelled" else Style.null()
        )

    def _alive(self) -> set[str]:
        queue = self._snapshot.queue
        return {run.run_id for run in queue.running} | {run.run_id for run in queue.queued}

    def _is_fault(self, run: RunReport) -> bool:
        return run.summary.error_count > 0 or run_outcome(run, self._snapshot) in ("crash", "stalled")

    def _glyph(self, run: RunReport) -> str:
        return self.drawing.marks[run_outcome(run, self._snapshot)].glyph

    def _glyph_style(self, run: RunReport) -> Style:
        return self.drawing.marks[run_outcome(run, self._snapshot)].style

    def _status(self, run: RunReport) -> str:
        if self._snapshot.is_stopping(run.run_id):
            return "ending"
        waiting: QueuedRun | None = self._snapshot.queued(run.run_id)
        if waiting is not None:
            return "held" if waiting.held else f"queued #{waiting.position}"
        if run.summary.completed_count >= run.summary.total_episodes and waiting_in(run):
            return "scoring"
        return run.status

    def _result(self, run: RunReport, told: Callable[[RunReport], str]) -> str:
        """Why it waits; else the headline, or why there is none at all."""
        waiting, summary = self._snapshot.queued(run.run_id), run.summary
        waits = run.waits if waiting is None or self._snapshot.problem else waiting.reason
        lost = lost_in_short(summary.error_count, summary.completed_count)
        return one_line(waits) or told(run) or one_line(summary.error or "") or lost

    def _left(self, run: RunReport) -> float | None:
        return self._snapshot.left_sec.get(run.run_id)

    def _left_text(self, run: RunReport) -> str:
        left = self._left(run)
        return "" if left is None else duration(left)


def run_facts(run: RunReport | None, snapshot: Snapshot) -> set[Fact]:
    """What is true of a run, for the actions of the scope ``runs``."""
    if run is None:
        return set()
    found: set[Fact] = {"run", "ended run" if run.is_over else "live run"}
    if snapshot.queued(run.run_id) is not None:
        found.add("queued run")
    if run.status != "pending":
        found.add("started run")
    return found


def _name(run: RunReport) -> str:
    graph = run.summary.config.graph_name
    return f"{run.label} ({graph})" if run.label else graph


def _short_name(run: RunReport) -> str:
    return run.label or run.summary.config.graph_name


def _share(run: RunReport) -> float:
    return run.summary.completed_count / max(1, run.summary.total_episodes)


def _done(run: RunReport) -> str:
    return f"{run.summary.completed_count}/{run.summary.total_episodes}"


def _error_count(run: RunReport) -> int:
    return run.summary.error_count


def _errors(run: RunReport) -> str:
    return str(run.summary.error_count or "")


def _mean(run: RunReport) -> float | None:
    stats = next(iter(run.summary.metric_stats.values()), None)
    return stats.mean if stats else None


def _time(run: RunReport) -> str:
    return duration(run.summary.elapsed_sec) if run.summary.elapsed_sec else ""
