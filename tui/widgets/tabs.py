"""The names of the panes, where only one is seen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.strip import Strip
from textual.widget import Widget

from tui.drawing import Drawing, Piece, fit, strip_of


class Tabs(Widget, inherit_bindings=False):
    """tabs: number, name, heading. The active one's heading is replaced by its title."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Tabs { height: 1; width: 100%; position: absolute; }"

    def __init__(self, tabs: Sequence[tuple[int, str, str]]) -> None:
        super().__init__()
        self._tabs = tabs
        self._title = ""
        self._active = ""

    @property
    def active(self) -> str:
        return self._active

    @active.setter
    def active(self, name: str) -> None:
        if name != self._active:
            self._active = name
            self.refresh()

    def say(self, title: str) -> None:
        """What the active pane's title is."""
        if title != self._title:
            self._title = title
            self.refresh()

    def render_line(self, y: int) -> Strip:
        drawing: Drawing = self.app.drawing  # type: ignore[attr-defined]
        return strip_of(
            self.pieces(drawing, self.size.width), self.size.width, drawing.plain, cut=drawing.glyphs.cut
        )

    def pieces(self, drawing: Drawing, width: int) -> list[Piece]:
        """The line, for so many cells."""
        others = sum(cell_len(heading) + 4 for _, name, heading in self._tabs if name != self._active)
        room = width - others
        pieces: list[Piece] = []
        for number, name, heading in self._tabs:
            if name == self._active:
                title = f" {self._title or f'{number} {heading}'} "
                if cell_len(title) > room and cell_len(title := title.rstrip()) > room:
                    title = fit(title, max(0, room), cut=drawing.glyphs.cut)
                pieces.append((title, drawing.key + drawing.cursor))
            else:
                pieces += [(f" {number}", drawing.key), (f" {heading} ", drawing.dim)]
        return pieces
