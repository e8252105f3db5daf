"""``@``: what was asked of the backend from this screen, and what the backend has to say."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from textual.app import ComposeResult

from tui.activity_log import Asked
from tui.models import Snapshot
from tui.screens.base import Copies, Pane, View
from tui.table_model import Column, TableModel
from tui.widgets.virtual_table import VirtualTable


class ActivityPane(VirtualTable[Asked]):
    def __init__(self) -> None:
        columns: list[Column[Asked]] = [
            Column("at", "at", 9, lambda asked: asked.began, text=lambda asked: f"{asked.began:%H:%M:%S}"),
            Column("who", "who", 8, lambda asked: asked.who, drop=1),
            Column("what", "what", 0, lambda asked: asked.told),
            Column("outcome", "outcome", 0, lambda asked: asked.outcome or "…"),
        ]
        super().__init__(
            TableModel(columns, lambda asked: str(id(asked)), is_fault=lambda asked: asked.failed)
        )
        self._drawn: list[tuple[str, str]] = []

    def show(self, snapshot: Snapshot) -> None:
        entries: Sequence[Asked] = list(reversed(self.centre.activity.entries))
        drawn = [(entry.told, entry.outcome) for entry in entries]
        if drawn != self._drawn:
            self._drawn = drawn
            self.set_rows(entries)

    def empty(self) -> str:
        return "nothing was asked yet"

    def row_style(self, row: Asked) -> Style:
        return self.drawing.bad if row.failed else Style.null()

    def copies(self) -> Copies:
        entry = self.model.current
        return {"copy.row": lambda: f"{entry.began} {entry.told}: {entry.outcome}"} if entry else {}


class ActivityView(View):
    view_name = "activity"
    heading = "activity"

    def __init__(self, target: str = "") -> None:
        super().__init__(target)
        self._pane = ActivityPane()
        self._pane.active = True

    def body(self) -> ComposeResult:
        yield self._pane

    @property
    def pane(self) -> Pane:
        return self._pane
