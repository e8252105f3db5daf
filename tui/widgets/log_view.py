"""The rows of a log: a line a firing, with where its time went and what came out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from rich.style import Style
from textual import events

from engine.figures import count
from tui.actions import Fact
from tui.drawing import Piece, fit
from tui.episode.rows import LogRows
from tui.episode.session import LogSession
from tui.episode.times import cells_of, duration_text, shares_of
from tui.episode.values import brief_ports, bytes_text
from tui.logfile.rows import Row
from tui.models import Snapshot
from tui.screens.base import Pane
from tui.widgets.virtual_table import WHEEL_LINES

STEP, DURATION, BAR, TIME = 6, 8, 10, 12
BRIEF_BYTES = 32 * 1024
"""Of a longer line, what came out is told by the detail alone."""

_KEPT_BRIEFS = 4096


class _Ports(msgspec.Struct):
    inputs: Mapping[str, Any] = {}
    outputs: Mapping[str, Any] = {}


class LogView(Pane):
    """The cursor and the filter are the session's; ``moved`` is told when the cursor was moved here."""

    scope = ("log",)

    def __init__(self, session: LogSession, moved: Callable[[], None]) -> None:
        super().__init__()
        self._session = session
        self._moved = moved
        self._briefs: dict[int, str] = {}
        self._decoder = msgspec.json.Decoder(_Ports)
        self.top = 0
        self.times = False

    @property
    def rows(self) -> LogRows | None:
        return self._session.rows

    @property
    def page(self) -> int:
        return max(1, self.content_size.height - 1)

    @property
    def filter_text(self) -> str:
        return self._session.typed

    def set_filter(self, typed: str) -> None:
        self._session.set_filter(typed)
        self._moved()

    def forget(self) -> None:
        """Another episode is shown."""
        self.top = 0
        self._briefs.clear()

    def facts(self) -> set[Fact]:
        rows = self.rows
        found: set[Fact] = set()
        if self._session.typed or (rows is not None and rows.is_filtered):
            found.add("filter")
        if rows is not None and len(rows):
            found.add("row")
        if rows is not None and len(rows.matches):
            found.add("match")
        return found

    def title(self, snapshot: Snapshot) -> list[Piece]:
        session, rows, drawing = self._session, self.rows, self.drawing
        if rows is None:
            return []
        held = count(rows.index.rows, "row")
        shown = f" {len(rows)} of {held}" if rows.is_filtered else f" {held}"
        pieces: list[Piece] = [(shown, drawing.dim)]
        if not session.whole:
            pieces.append((", reading…", drawing.dim))
        if errors := len(rows.index.errors):
            pieces.append((f", {errors} with errors", drawing.bad))
        if session.typed or rows.errors_only:
            shown = " ".join(filter(None, [session.typed, "errors only" if rows.errors_only else ""]))
            pieces.append((f" / {shown}", drawing.warn))
        if session.query:
            pieces.append((self._matches(rows), drawing.warn))
        if session.following:
            pieces.append((" following", drawing.good))
        if session.torn:
            pieces.append((f", then a torn line of {count(session.torn, 'byte')}", drawing.warn))
        return pieces

    def _matches(self, rows: LogRows) -> str:
        session = self._session
        if session.search_problem:
            return f": {session.search_problem}"
        hits = len(rows.hits)
        count = f"{hits} {'match' if hits == 1 else 'matches'}"
        if not session.found_all:
            return f": {count}, {session.searched:.0%} searched"
        return f": {rows.match_place()} of {count}" if rows.is_match(rows.at) else f": {count}"

    async def do(self, action_id: str) -> bool:
        rows = self.rows
        if rows is None:
            return False
        moves: dict[str, Callable[[], int]] = {
            "global.down": lambda: rows.place + 1,
            "global.up": lambda: rows.place - 1,
            "global.first": lambda: 0,
            "global.last": lambda: len(rows) - 1,
            "global.half_page_down": lambda: rows.place + self.page // 2,
            "global.half_page_up": lambda: rows.place - self.page // 2,
            "global.page_down": lambda: rows.place + self.page,
            "global.page_up": lambda: rows.place - self.page,
        }
        if action_id not in moves:
            return False
        self.move_to(moves[action_id]())
        return True

    def move_to(self, place: int) -> None:
        """The cursor, by the operator: what follows the newest row stops."""
        if (rows := self.rows) is not None:
            rows.move_to(place)
            self._session.following &= rows.place == len(rows) - 1
            self.touch()

    def touch(self) -> None:
        """The operator has moved the cursor."""
        if (rows := self.rows) is not None:
            rows.touched = True
        self._moved()

    def reveal(self) -> None:
        """Where the cursor is out of sight, into the middle of what is around it."""
        if (rows := self.rows) is not None and not self.top < rows.place < self.top + self.page - 1:
            self.top = rows.place - self.page // 2
        self.keep_visible()

    def keep_visible(self) -> None:
        """Scroll so that the cursor is seen, with a line around it; in the middle until it was moved."""
        if (rows := self.rows) is None:
            return
        place, margin = rows.place, 1 if self.page > 4 else 0
        top = self.top if rows.touched else place - self.page // 2
        top = min(top, place - margin, len(rows) - self.page)
        self.top = max(top, min(place + margin, len(rows) - 1) - self.page + 1, 0)
        self.redraw()

    def line(self, y: int, width: int) -> Iterable[Piece]:
        if y == 0:
            return self._titles(width)
        rows, place = self.rows, self.top + y - 1
        if rows is None or place >= len(rows):
            return [(f" {self._empty()}", self.drawing.dim)] if y == 1 else ()
        try:
            return self._row(rows, rows.row(place), place, width)
        except OSError as error:
            return [(f" the log cannot be read: {error.strerror}", self.drawing.bad)]

    def over(self, y: int) -> Style | None:
        rows = self.rows
        if rows is None or y == 0 or not len(rows) or self.top + y - 1 != rows.place:
            return None
        return self.drawing.cursor if self.active else self.drawing.resting

    def on_resize(self) -> None:
        self.keep_visible()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move_to(self.rows.place + WHEEL_LINES if self.rows else 0)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move_to(self.rows.place - WHEEL_LINES if self.rows else 0)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and offset.y > 0 and self.rows and self.top + offset.y - 1 < len(self.rows):
            self.move_to(self.top + offset.y - 1)

    def _empty(self) -> str:
        session = self._session
        if session.problem:
            return f"{session.problem}{': it is waited for' if session.ending.file is None else ''}"
        if session.place is None:
            return session.before
        if self.rows is None or not session.whole:
            return "reading…"
        if self.rows.is_filtered:
            return "no row passes the filter: esc clears it"
        return "the log is empty: no node has fired"

    def _node_width(self, width: int) -> int:
        return min(26, max(10, (width - STEP - DURATION - BAR) // 3))

    def _titles(self, width: int) -> list[Piece]:
        drawing = self.drawing
        queue, compute, transport, _ = self._bar_styles()
        time = fit("time", TIME + 1) if self.times else ""
        pieces: list[Piece] = [
            (f"{'step':>{STEP}} {time}{fit('node', self._node_width(width))} ", drawing.dim)
        ]
        pieces.append((f"{'ms':>{DURATION}} ", drawing.dim))
        if width >= 60:
            letters = (("q", queue), ("c", compute), ("t", transport))
            for letter, (glyph, style) in letters:
                pieces += [(letter, drawing.dim), (glyph, style), (" ", drawing.dim)]
            pieces.append(("  ", drawing.dim))
        pieces.append(("what", drawing.dim))
        return pieces

    def _row(self, rows: LogRows, row: Row, place: int, width: int) -> list[Piece]:
        drawing, head = self.drawing, row.head
        error = drawing.bad if row.error or rows.is_error(row.number) else Style.null()
        begins = (
            place == self.top
            or rows.index.steps[row.number] != rows.index.steps[max(0, rows.number(place - 1))]
            if place
            else True
        )
        mark = drawing.glyphs.mark if rows.is_match(row.number) else " "
        step = "?" if head.step < 0 and head.problem else str(head.step)
        pieces: list[Piece] = [
            (f"{mark}{step:>{STEP - 1}} ", drawing.strong if begins else drawing.dim),
        ]
        if self.times:
            pieces.append((fit(head.timestamp[11:23], TIME) + " ", drawing.dim))
        child = "  " if head.parent_node_id else ""
        pieces.append(
            (fit(child + (head.node_id or "?"), self._node_width(width), cut=drawing.glyphs.cut) + " ", error)
        )
        pieces.append(
            (
                f"{duration_text(head.duration_ms):>{DURATION}} ",
                drawing.dim if head.duration_ms < 0.05 else Style.null(),
            )
        )
        if width >= 60:
            pieces += self._bar(row)
        if row.error:
            pieces.append((row.error, drawing.bad))
        else:
            pieces.append((self._brief(row, width), drawing.dim if head.problem else Style.null()))
        return pieces

    def _bar_styles(self) -> tuple[tuple[str, Style], ...]:
        drawing = self.drawing
        if drawing.ascii:
            return tuple((glyph, Style.null()) for glyph in ("q", "c", "t", "."))
        styles = (drawing.warn, drawing.good, drawing.key, drawing.dim)
        return tuple(zip(("░", "█", "▒", "·"), (style + Style(bold=False) for style in styles), strict=True))

    def _bar(self, row: Row) -> list[Piece]:
        cells = cells_of(shares_of(row.head), BAR)
        if not any(cells):
            return [(" " * (BAR + 1), Style.null())]
        pieces: list[Piece] = []
        for wide, (glyph, style) in zip(cells, self._bar_styles(), strict=True):
            pieces.append((glyph * wide, style))
        return [*pieces, (" ", Style.null())]

    def _brief(self, row: Row, width: int) -> str:
        known = self._briefs.get(row.number)
        if known is None:
            if len(self._briefs) >= _KEPT_BRIEFS:
                self._briefs.clear()
            known = self._briefs[row.number] = self._read_brief(row)
        return known

    def _read_brief(self, row: Row) -> str:
        if self.rows is None:
            return ""
        if row.size > BRIEF_BYTES:
            return f"{bytes_text(row.size)} in one line"
        try:
            ports = self._decoder.decode(self.rows.reader.raw(row.number, BRIEF_BYTES))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return ""
        if ports.outputs:
            return brief_ports(ports.outputs, 200)
        return f"← {brief_ports(ports.inputs, 200)}" if ports.inputs else ""
