"""One firing, whole: lines that scroll."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual import events

from tui.drawing import Piece
from tui.episode.details import Detail
from tui.models import Snapshot
from tui.screens.base import Pane
from tui.widgets.ink import pieces_of
from tui.widgets.virtual_table import WHEEL_LINES

SIDE_CELLS = 8


class RecordView(Pane):
    """Shows the detail it was given last. ``left``: cells that are scrolled out at the left, unwrapped.

    resized: told when there is another width for it.
    """

    scope = ("log",)

    def __init__(self, resized: Callable[[], None]) -> None:
        super().__init__()
        self._resized = resized
        self.detail: Detail | None = None
        self.problem = ""
        self.top = 0
        self.left = 0

    @property
    def page(self) -> int:
        return max(1, self.content_size.height)

    def give(self, detail: Detail | None, problem: str = "") -> None:
        """The row's detail; the place in it is kept while the row stays the same."""
        before, self.detail, self.problem = self.detail, detail, problem
        if before is None or detail is None or before.wanted.row != detail.wanted.row:
            self.top = self.left = 0
        self.scroll_to_line(self.top)

    def title(self, snapshot: Snapshot) -> list[Piece]:
        detail = self.detail
        if detail is None:
            return []
        pieces: list[Piece] = [(f" {detail.title}", self.drawing.dim)]
        if detail.wanted.changes:
            pieces.append((" changes", self.drawing.warn))
        if len(detail.lines) > self.page:
            last = min(len(detail.lines), self.top + self.page)
            pieces.append((f"  {last * 100 // len(detail.lines)}%", self.drawing.dim))
        return pieces

    async def do(self, action_id: str) -> bool:
        last = len(self.detail.lines) if self.detail else 0
        moves: dict[str, Callable[[], int]] = {
            "global.down": lambda: self.top + 1,
            "global.up": lambda: self.top - 1,
            "global.first": lambda: 0,
            "global.last": lambda: last,
            "global.half_page_down": lambda: self.top + self.page // 2,
            "global.half_page_up": lambda: self.top - self.page // 2,
            "global.page_down": lambda: self.top + self.page,
            "global.page_up": lambda: self.top - self.page,
        }
        if action_id in moves:
            self.scroll_to_line(moves[action_id]())
        elif action_id in ("global.left", "global.right"):
            self.left = max(0, self.left + (SIDE_CELLS if action_id == "global.right" else -SIDE_CELLS))
            self.redraw()
        else:
            return False
        return True

    def scroll_to_line(self, line: int) -> None:
        count = len(self.detail.lines) if self.detail else 0
        self.top = max(0, min(line, count - self.page))
        self.redraw()

    def line(self, y: int, width: int) -> Iterable[Piece]:
        if self.detail is None:
            return [(f" {self.problem}", self.drawing.dim)] if y == 0 else ()
        place = self.top + y
        if place >= len(self.detail.lines):
            return ()
        pieces = pieces_of(self.detail.lines[place], self.drawing)
        return [
            (" ", self.drawing.plain),
            *(pieces if self.detail.wanted.wrap else _without(pieces, self.left)),
        ]

    def on_resize(self) -> None:
        self.scroll_to_line(self.top)
        self._resized()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_to_line(self.top + WHEEL_LINES)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_to_line(self.top - WHEEL_LINES)


def _without(pieces: list[Piece], characters: int) -> list[Piece]:
    """The pieces without so many at their beginning."""
    kept: list[Piece] = []
    for text, style in pieces:
        if characters < len(text):
            kept.append((text[characters:], style))
        characters = max(0, characters - len(text))
    return kept
