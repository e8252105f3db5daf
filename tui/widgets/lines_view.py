"""Lines that are read: as many as there are, wrapped, scrolled by the keys that move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import events

from tui.drawing import Piece
from tui.episode.inks import InkedLine, wrapped
from tui.models import Snapshot
from tui.screens.base import Pane
from tui.widgets.ink import pieces_of
from tui.widgets.virtual_table import WHEEL_LINES


class LinesView(Pane):
    """top: the first line that is seen."""

    def __init__(self) -> None:
        super().__init__()
        self._given: Sequence[InkedLine] = ()
        self._lines: Sequence[InkedLine] = ()
        self.top = 0

    @property
    def lines(self) -> Sequence[InkedLine]:
        """As they are broken now."""
        return self._lines

    def give(self, lines: Sequence[InkedLine], *, stay: bool = False) -> None:
        """Show these, from the first on, or (``stay``) from where it stands."""
        if not stay:
            self.top = 0
        self._given = lines
        self._wrap()

    def title(self, snapshot: Snapshot) -> list[Piece]:
        """How far it is read, where there is more than fits."""
        seen = self.top + self.content_size.height
        if len(self._lines) <= self.content_size.height:
            return []
        return [(f"  {min(seen, len(self._lines)) * 100 // len(self._lines)}%", self.drawing.dim)]

    async def do(self, action_id: str) -> bool:
        page = max(1, self.content_size.height - 1)
        tops = {
            "global.down": self.top + 1,
            "global.up": self.top - 1,
            "global.first": 0,
            "global.last": len(self._lines),
            "global.half_page_down": self.top + page // 2,
            "global.half_page_up": self.top - page // 2,
            "global.page_down": self.top + page,
            "global.page_up": self.top - page,
        }
        if action_id not in tops:
            return False
        self.scroll_to_line(tops[action_id])
        return True

    def scroll_to_line(self, line: int) -> None:
        self.top = max(0, min(line, len(self._lines) - self.content_size.height))
        self.redraw()

    def on_resize(self, event: events.Resize) -> None:
        self._wrap()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_to_line(self.top + WHEEL_LINES)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_to_line(self.top - WHEEL_LINES)

    def line(self, y: int, width: int) -> Iterable[Piece]:
        place = self.top + y
        if place >= len(self._lines):
            return ()
        return [(" ", self.drawing.plain), *pieces_of(self._lines[place], self.drawing)]

    def _wrap(self) -> None:
        self._lines = list(wrapped(self._given, self.content_size.width - 2))
        self.scroll_to_line(self.top)
