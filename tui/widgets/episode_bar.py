"""The lines over a log: which episode it is, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tui.drawing import Piece
from tui.episode.inks import InkedLine
from tui.screens.base import Pane
from tui.widgets.ink import pieces_of


class EpisodeBar(Pane):
    """It takes as many lines as it has, at most ``most``."""

    DEFAULT_CSS = "EpisodeBar { width: 100%; height: auto; }"
    most = 3

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[InkedLine] = ()

    def say(self, lines: Sequence[InkedLine]) -> None:
        if list(lines) != list(self._lines):
            taller = self._height(lines) != self._height(self._lines)
            self._lines = lines
            self.refresh(layout=taller)

    def line(self, y: int, width: int) -> Iterable[Piece]:
        return (
            [(" ", self.drawing.plain), *pieces_of(self._lines[y], self.drawing)]
            if y < len(self._lines)
            else ()
        )

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return self._height(self._lines)

    def _height(self, lines: Sequence[InkedLine]) -> int:
        return min(self.most, max(1, len(lines)))
