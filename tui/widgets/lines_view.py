"""Lines that are read: as many as there are, wrapped, scrolled by the keys that move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import events

from tui.drawing import Piece
from tui.episode.inks import InkedLine, wrapped
from tui.screens.base import Pane
from tui.widgets.ink import pieces_of


class LinesView(Pane):
    def __init__(self) -> None:
        super().__init__()
        self._given: Sequence[InkedLine] = ()
        self._lines: Sequence[InkedLine] = ()
        self._top = 0

    def give(self, lines: Sequence[InkedLine]) -> None:
        """Show these, from the first on."""
        self._given, self._top = lines, 0
        self._wrap()

    async def do(self, action_id: str) -> bool:
        page = max(1, self.content_size.height - 1)
        tops = {
            "global.down": self._top + 1,
            "global.up": self._top - 1,
            "global.first": 0,
            "global.last": len(self._lines),
            "global.half_page_down": self._top + page // 2,
            "global.half_page_up": self._top - page // 2,
            "global.page_down": self._top + page,
            "global.page_up": self._top - page,
        }
        if action_id not in tops:
            return False
        self._top = max(0, min(tops[action_id], len(self._lines) - self.content_size.height))
        self.redraw()
        return True

    def on_resize(self, event: events.Resize) -> None:
        self._wrap()

    def line(self, y: int, width: int) -> Iterable[Piece]:
        place = self._top + y
        if place >= len(self._lines):
            return ()
        return [(" ", self.drawing.plain), *pieces_of(self._lines[place], self.drawing)]

    def _wrap(self) -> None:
        self._lines = list(wrapped(self._given, self.content_size.width - 2))
        self.redraw()
