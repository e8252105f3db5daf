"""A pane that is drawn as a whole, and of which only the cells that differ are sent to the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from rich.cells import cell_len
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip

from tui.drawing import Piece, strip_of
from tui.sanitize import plain
from tui.screens.base import Pane

APART = 8
_FRAME = 4
"""Cells of a frame beside its title, at most."""

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
        regions = [
            region
            for y, (old, new) in enumerate(zip(before, self._strips, strict=True))
            if old != new
            for region in changed_regions(y, old, new)
        ]
        if regions:
            self.refresh(*regions)

    def redraw(self) -> None:
        self._made_for = None
        self.refresh()

    def set_title(self, text: str) -> None:
        if text == self._title:
            return
        before, self._title = self._title, text
        self._border_title = plain(text)  # Textual's own setter has the whole pane sent anew
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(before, text, strict=False))
        same = sum(cell_len(character) for character, _ in alike)
        end = max(cell_len(before), cell_len(text)) + _FRAME
        self.refresh(Region(same, -1, max(1, end - same), 1))

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
        made = [
            strip_of(line, width, self.drawing.plain) for line in list(self.lines(width, height))[:height]
        ]
        blank = Strip.blank(width, self.drawing.plain)
        self._strips = made + [blank] * (height - len(made))


def changed_regions(y: int, old: Strip, new: Strip) -> list[Region]:
    """The cells of line ``y`` in which two strips of the same width differ. To skip less than APART cells
    costs more than to send them."""
    before, after = _cells(old), _cells(new)
    regions: list[Region] = []
    for x, (was, now) in enumerate(zip(before, after, strict=True)):
        if was == now:
            continue
        if regions and x - regions[-1].right < APART:
            regions[-1] = Region(regions[-1].x, y, x + 1 - regions[-1].x, 1)
        else:
            regions.append(Region(x, y, 1, 1))
    return regions


def _cells(strip: Strip) -> list[tuple[str, Style | None]]:
    """The character and style of each cell; a wide character's second cell has the character, too."""
    return [
        (character, style)
        for text, style, _ in strip
        for character in text
        for _ in range(cell_len(character))
    ]
