"""The one table of the house: any number of rows, drawn by line; only those on screen cost anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from rich.style import Style
from textual import events

from tui.actions import Fact
from tui.drawing import Piece, fit
from tui.screens.base import Pane
from tui.table_model import Column, TableModel
from tui.widgets.menu import Item, Menu

R = TypeVar("R")

GAP = 1
GUTTER = 1
"""For the mark, left of the columns."""

WHEEL_LINES = 3


def columns_that_fit(columns: Sequence[Column[R]], width: int) -> list[tuple[Column[R], int]]:
    """What is shown in ``width`` cells, and how wide each is. Those with the greatest ``drop`` go first."""
    kept = list(columns)
    while True:
        needed = sum((column.width or column.least) + GAP for column in kept) - GAP
        leaving = max(kept, key=lambda column: column.drop, default=None)
        if needed <= width or leaving is None or not leaving.drop:
            break
        kept.remove(leaving)
    elastic = [column for column in kept if not column.width]
    spare = max(0, width - sum(column.width + GAP for column in kept) + GAP)
    share, rest = divmod(spare, len(elastic)) if elastic else (0, 0)
    return [(column, column.width or share + (rest if column is elastic[-1] else 0)) for column in kept]


class VirtualTable(Pane, Generic[R]):
    """A pane with the rows of a :class:`TableModel`: moving, sorting, filtering, marking, copying.

    Subclasses make the model, give it rows in :meth:`show` by :meth:`set_rows`, and override
    :meth:`row_style`, :meth:`moved` (the cursor is on another row) and :meth:`empty`.
    """

    def __init__(self, model: TableModel[R], **more: str) -> None:
        super().__init__(**more)
        self.model = model
        self.top = 0
        self._told_id = ""

    def empty(self) -> str:
        """What stands where there are no rows."""
        return ""

    def row_style(self, row: R) -> Style:
        return Style.null()

    def moved(self) -> None:
        """The cursor stands on another row than before."""

    def set_rows(self, rows: Sequence[R], columns: Sequence[Column[R]] | None = None) -> None:
        """Show these; the cursor stays on its row."""
        if self.model.set_rows(rows, columns):
            self._changed()

    @property
    def page(self) -> int:
        """Rows on screen."""
        return max(1, self.content_size.height - 1)

    @property
    def filter_text(self) -> str:
        return self.model.filter

    def set_filter(self, typed: str) -> None:
        self.model.set_filter(typed)
        self._changed()

    def show_all(self) -> bool:
        hides = bool(self.filter_text) or self.model.faults_only
        if hides:
            self.model.set_faults_only(False)
            self.set_filter("")
        return hides

    def facts(self) -> set[Fact]:
        found: set[Fact] = {"filters"}
        if self.model.is_fault is not None:
            found.add("faults")
        if self.model.current is not None:
            found.add("row")
        if self.model.filter:
            found.add("filter")
        if self.model.marks:
            found.add("mark")
        return found

    def go_to(self, place: int) -> None:
        """Put the cursor on this place of the order."""
        self.model.move(place)
        self._changed()

    def go_to_id(self, row_id: str) -> bool:
        """Put the cursor on this row. False where it is not shown."""
        found = self.model.move_to_id(row_id)
        self._changed()
        return found

    def counts(self) -> str:
        """``31 of 412``, and what is marked."""
        shown, there = len(self.model), len(self.model.rows)
        text = f"{shown} of {there}" if shown != there else f"{there}"
        return f"{text}, {len(self.model.marks)} marked" if self.model.marks else text

    def filter_pieces(self) -> list[Piece]:
        """For a title: what hides rows, so that nobody misses them."""
        drawing = self.drawing
        pieces = [(f" / {self.model.filter}", drawing.warn)] if self.model.filter else []
        return [*pieces, (" faults only", drawing.warn)] if self.model.faults_only else pieces

    async def do(self, action_id: str) -> bool:
        model = self.model
        moves: dict[str, Callable[[], int]] = {
            "global.down": lambda: model.at + 1,
            "global.up": lambda: model.at - 1,
            "global.first": lambda: 0,
            "global.last": lambda: len(model) - 1,
            "global.half_page_down": lambda: model.at + self.page // 2,
            "global.half_page_up": lambda: model.at - self.page // 2,
            "global.page_down": lambda: model.at + self.page,
            "global.page_up": lambda: model.at - self.page,
        }
        changes: dict[str, Callable[[], None]] = {
            "global.reverse": model.reverse,
            "global.sort_left": lambda: self._sort_beside(-1),
            "global.sort_right": lambda: self._sort_beside(1),
            "global.mark": self._mark,
            "global.mark_range": model.begin_range,
            "global.mark_all": model.mark_all,
            "global.clear_marks": model.clear_marks,
            "global.faults": lambda: model.set_faults_only(not model.faults_only),
        }
        if action_id in moves:
            model.move(moves[action_id]())
        elif action_id in changes:
            changes[action_id]()
        elif action_id == "global.sort":
            self.centre.spawn(self._choose_sort(), opens=True)
        else:
            return False
        self._changed()
        return True

    def title_line(self, width: int) -> list[Piece]:
        """The columns' titles, the one that is sorted by with an arrow."""
        drawing = self.drawing
        first = self.model.sort[0] if self.model.sort else ""
        pieces: list[Piece] = [(" " * GUTTER, drawing.plain)]
        for column, cells in columns_that_fit(self.model.columns, width - GUTTER):
            arrow = drawing.glyphs.down if first.startswith("-") else drawing.glyphs.up
            text = column.title + (arrow if first.lstrip("-") == column.key else "")
            pieces += [
                (fit(text, cells, right=column.align == "right"), drawing.dim),
                (" " * GAP, drawing.plain),
            ]
        return pieces

    def line(self, y: int, width: int) -> Iterable[Piece]:
        if y == 0:
            return self.title_line(width)
        place = self.top + y - 1
        if place >= len(self.model):
            return [(" " * GUTTER + self.empty(), self.drawing.dim)] if y == 1 else ()
        return self._cells(self.model.row(place), width)

    def over(self, y: int) -> Style | None:
        if y == 0 or self.top + y - 1 != self.model.at or not len(self.model):
            return None
        return self.drawing.cursor if self.active else self.drawing.resting

    def _cells(self, row: R, width: int) -> list[Piece]:
        drawing = self.drawing
        style = self.row_style(row)
        marked = self.model.identify(row) in self.model.marks
        if marked:
            style += drawing.strong
        pieces: list[Piece] = [(drawing.glyphs.mark if marked else " ", drawing.warn)]
        for column, cells in columns_that_fit(self.model.columns, width - GUTTER):
            own = style + column.style(row) if column.style is not None else style
            text = fit(column.cell(row), cells, right=column.align == "right", cut=drawing.glyphs.cut)
            pieces += [(text, own), (" " * GAP, style)]
        return pieces

    def _mark(self) -> None:
        self.model.toggle_mark()
        self.model.move(self.model.at + 1)

    def _sort_beside(self, by: int) -> None:
        keys = [column.key for column in self.model.columns]
        first = self.model.sort[0].lstrip("-") if self.model.sort else ""
        place = keys.index(first) + by if first in keys else 0
        self.model.set_sort([keys[place % len(keys)], *self.model.sort[1:]])

    async def _choose_sort(self) -> None:
        items = [Item(column.key, column.title or column.key) for column in self.model.columns]
        chosen = await self.centre.ask(Menu("sort by", lambda typed: items))
        if chosen is not None and chosen.id:
            self.model.sort_by(chosen.id)
            self._changed()

    def _changed(self) -> None:
        self._keep_visible()
        self.redraw()
        if self.model.current_id != self._told_id:
            self._told_id = self.model.current_id
            self.moved()

    def _keep_visible(self) -> None:
        self.top = min(self.top, self.model.at, max(0, len(self.model) - self.page))
        self.top = max(self.top, self.model.at - self.page + 1)

    def on_resize(self) -> None:
        self._keep_visible()
        self.redraw()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.go_to(self.model.at + WHEEL_LINES)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.go_to(self.model.at - WHEEL_LINES)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and offset.y > 0 and self.top + offset.y - 1 < len(self.model):
            self.go_to(self.top + offset.y - 1)
