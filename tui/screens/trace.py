"""The events of an episode's trace: a row each, and the one under the cursor whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Container

from engine.store.strict_json import encode_indented
from tui.drawing import Piece
from tui.episode.inks import inked
from tui.episode.places import EPISODE, TRACE, Ending, Place
from tui.episode.trace_events import (
    Trace,
    TraceEvent,
    event_lines,
    left_out_text,
    read_trace,
    time_text,
)
from tui.models import Snapshot
from tui.screens.base import Copies, Pane
from tui.screens.episode_part import EpisodePart
from tui.table_model import Column, TableModel
from tui.widgets.lines_view import LinesView
from tui.widgets.virtual_table import VirtualTable

BESIDE = 120
"""Cells from which on the event stands beside the table, not below it."""


class EventsTable(VirtualTable[TraceEvent]):
    """on_moved: told when another event is under the cursor."""

    opens = True

    def __init__(self, on_moved: Callable[[TraceEvent | None], None]) -> None:
        columns: list[Column[TraceEvent]] = [
            Column(
                "sec",
                "sec",
                9,
                lambda event: event.sec,
                text=lambda event: time_text(event.sec),
                align="right",
            ),
            Column("step", "step", 5, lambda event: event.step, align="right", drop=2),
            Column("kind", "kind", 11, lambda event: event.kind),
            Column("by", "by", 12, lambda event: event.source, drop=1),
            Column("what", "what", 0, lambda event: event.brief),
        ]
        super().__init__(
            TableModel(columns, lambda event: str(event.number), is_fault=lambda event: event.is_error)
        )
        self._on_moved = on_moved
        self._said = "reading…"
        self._left_out = ""

    def give(self, trace: Trace) -> None:
        self._said, self._left_out = trace.problem or "the trace is empty", left_out_text(trace)
        self.set_rows(trace.events)
        self.redraw()

    def title(self, snapshot: Snapshot) -> list[Piece]:
        pieces: list[Piece] = [(f" {self.counts()}", self.drawing.dim), *self.filter_pieces()]
        return [*pieces, (f" {self._left_out}", self.drawing.warn)] if self._left_out else pieces

    def say(self, problem: str) -> None:
        self._said = problem
        self.redraw()

    def empty(self) -> str:
        return "no event passes the filter: esc clears it" if self.model.rows else self._said

    def row_style(self, row: TraceEvent) -> Style:
        return self.drawing.bad if row.is_error else Style.null()

    def moved(self) -> None:
        self._on_moved(self.model.current)

    def copies(self) -> Copies:
        event = self.model.current
        if event is None:
            return {}
        copies = {
            "copy.row": lambda: event.brief,
            "copy.json": lambda: encode_indented(dict(event.fields)).decode(),
        }
        if event.is_error:
            copies["copy.error"] = lambda: event.brief
        return copies


class TraceView(EpisodePart):
    """The table has the keys until ``enter`` or ``tab`` gives them to the event."""

    view_name = "trace"
    heading = "trace"
    watched: ClassVar[tuple[str, ...]] = (TRACE, EPISODE)
    DEFAULT_CSS = """
    TraceView Container { width: 100%; height: 1fr; layout: vertical; }
    TraceView Container.beside { layout: horizontal; }
    TraceView Pane { width: 100%; height: 1fr; border-top: solid $foreground 35%;
                     border-title-color: $foreground 75%; }
    TraceView Container.beside Pane { width: 1fr; height: 100%; }
    TraceView Pane.active { border-top: solid $accent; border-title-color: $accent; }
    """

    def __init__(self, target: str = "") -> None:
        super().__init__(target)
        self.table = EventsTable(self._moved)
        self.lines = LinesView()
        self.area = Container(self.table, self.lines)
        self._active: Pane = self.table
        self._trace = Trace()

    def body(self) -> ComposeResult:
        yield self.area

    @property
    def pane(self) -> Pane:
        return self._active

    def on_mount(self) -> None:
        self._activate(self.table)
        super().on_mount()

    def on_resize(self, event: events.Resize) -> None:
        self.area.set_class(event.size.width >= BESIDE, "beside")

    def read(self, place: Place) -> Ending:
        self._trace = read_trace(place.folder)
        return super().read(place)

    def failed(self, problem: str) -> None:
        self.table.say(problem)

    def told(self, *, other: bool) -> None:
        self.table.give(self._trace)
        if other:
            self.table.go_to(0)
            self._moved(self.table.model.current)
        self._name_parts()

    def show(self, snapshot: Snapshot) -> None:
        super().show(snapshot)
        self._name_parts()

    async def do(self, action_id: str) -> bool:
        if action_id in ("global.focus_next", "global.focus_previous"):
            self._activate(self.lines if self._active is self.table else self.table)
        elif action_id == "global.open" and self._active is self.table:
            self._activate(self.lines)
        elif action_id == "global.back" and self._active is self.lines:
            self._activate(self.table)
        elif action_id in ("scores.next_error", "scores.previous_error"):
            self._jump(forward=action_id == "scores.next_error")
        else:
            done = await super().do(action_id)
            self._name_parts()
            return done
        return True

    def copies(self) -> Copies:
        """Of the event under the cursor, wherever the keys are."""
        place = self.place
        path = {"copy.path": lambda: str(place.folder / TRACE)} if place is not None else {}
        return {**path, **self.table.copies()}

    def _jump(self, *, forward: bool) -> None:
        model = self.table.model
        ahead = range(model.at + 1, len(model)) if forward else range(model.at - 1, -1, -1)
        found = next((place for place in ahead if model.row(place).is_error), None)
        if found is None:
            self.centre.tell("no error further " + ("down" if forward else "up"))
        else:
            self.table.go_to(found)

    def _activate(self, pane: Pane) -> None:
        self._active = pane
        for part in (self.table, self.lines):
            part.active = part is pane
            part.set_class(part.active, "active")
            part.redraw()
        self.bars_changed()

    def _moved(self, event: TraceEvent | None) -> None:
        self.lines.give(list(event_lines(event)) if event is not None else [inked("")])
        self._name_parts()

    def _name_parts(self) -> None:
        for name, pane in (("Events", self.table), ("Event", self.lines)):
            pane.set_title(name + "".join(text for text, _ in pane.title(self.centre.snapshot)))
