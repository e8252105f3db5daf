"""A pane that is drawn as a whole, and of which only the lines that differ are painted."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Region
from textual.strip import Strip

from tui.drawing import Piece, strip_of
from tui.sanitize import plain
from tui.screens.base import Pane

Line = Sequence[Piece]
"""A line's pieces; what they leave of the width is paper."""


class DrawnPane(Pane):
    """Subclasses make :meth:`lines`, and call :meth:`changed` where they may have become others."""

    def __init__(self) -> None:
        super().__init__()
        self._strips: list[Strip] = []
        self._made_for: object = None

    def lines(self, width: int, height: int) -> Sequence[Line]:
        """At most ``height`` of them."""
        return ()

    def changed(self) -> None:
        """Make it anew, and paint what is not as it was."""
        before, made_for = self._strips, self._made_for
        self._made_for = None
        if made_for is None or not self.is_mounted or not self.display:
            return
        self._make()
        if self._made_for != made_for:
            self.refresh()
            return
        pairs = enumerate(zip(before, self._strips, strict=True))
        if regions := [Region(0, y, self.content_size.width, 1) for y, (old, new) in pairs if old != new]:
            self.refresh(*regions)

    def redraw(self) -> None:
        self._made_for = None
        self.refresh()

    def set_title(self, text: str) -> None:
        if text != self._title:
            self._title = text
            self._border_title = plain(text)  # Textual's own setter has the whole pane drawn anew
            self.refresh(Region(-1, -1, self.outer_size.width, 1))

    def render_line(self, y: int) -> Strip:
        if self._made_for != self._for():
            self._make()
        if 0 <= y < len(self._strips):
            return self._strips[y]
        return Strip.blank(self.content_size.width, self.drawing.plain)

    def _for(self) -> object:
        """What else the lines depend on."""
        return self.content_size, self.drawing, self.active, self.full

    def _make(self) -> None:
        self._made_for = self._for()
        width, height = self.content_size
        lines, cut = list(self.lines(width, height))[:height], self.drawing.glyphs.cut
        made = [strip_of(line, width, self.drawing.plain, cut=cut) for line in lines]
        blank = Strip.blank(width, self.drawing.plain)
        self._strips = made + [blank] * (height - len(made))
