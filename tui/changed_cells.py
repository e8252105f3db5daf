"""Of an update of the screen, only the cells that are not on the terminal yet.

Textual sends each line that may have changed from its widget's left edge on, and each piece with all of its
colours. Here a line is compared with what was sent last, cell by cell; a style is told only where it changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.cells import get_character_cell_size
from rich.console import Console
from rich.control import Control
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

Cell = tuple[str, Style | None]
"""A character (with the marks that lie on it) and its style; "" is the second half of a wide one."""

_MARK = "x"
_NARROW = re.compile("[\x20-\x7e\u2500-\u259f]*")
"""Characters of one cell each: most of what a screen consists of."""

APART = 8
"""To skip fewer cells than these costs more than to send them again."""


class Shown:
    """What stands on the terminal. The whole screen, when Textual sends it, is sent as it is.

    lines: the cells that are known, by y. written: where the last update wrote.
    """

    def __init__(self) -> None:
        self.lines: dict[int, list[Cell | None]] = {}
        self.written: list[Region] = []

    def forget(self) -> None:
        """Nobody knows any more what stands there."""
        self.lines.clear()

    def render(self, update: CompositorUpdate, console: Console) -> str:
        """What to send for an update. It is taken as sent."""
        self.written = []
        if isinstance(update, ChopsUpdate):
            return self._differences(update, console)
        self.forget()
        if isinstance(update, LayoutUpdate):
            self.written.append(update.region)
            for y, line in enumerate(update.strips, update.region.y):
                known = self.lines[y] = [None] * update.region.x
                for strip in line:
                    known += cells_of(strip)
        return update.render_segments(console)

    def _differences(self, update: ChopsUpdate, console: Console) -> str:
        pen = Pen(console)
        for y, left, right in update.spans:
            known = self.lines.setdefault(y, [])
            known += [None] * (update.chop_ends[y][-1] - len(known))
            for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                if strip is None or x >= right or end <= left:
                    continue
                cells = cells_of(strip)
                since, until = max(x, left), min(end, right, x + len(cells))
                if known[since:until] == cells[since - x : until - x]:
                    continue
                for first, last in _runs(cells, known, x, since, until):
                    pen.move_to(first, y)
                    pen.write(cells[first - x : last - x])
                    self.written.append(Region(first, y, last - first, 1))
                known[since:until] = cells[since - x : until - x]
        return pen.done()


class Pen:
    """Writes for a terminal, and says how only where that differs from the character before."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._codes: dict[Style | None, tuple[str, str]] = {}
        self._style: Style | None = None
        self._written: list[str] = []

    def move_to(self, x: int, y: int) -> None:
        self._written.append(Control.move_to(x, y).segment.text)

    def write(self, cells: Iterable[Cell]) -> None:
        for text, style in cells:
            if style is not self._style and style != self._style:
                self._written.append(self._around(self._style)[1])
                self._written.append(self._around(style)[0])
                self._style = style
            self._written.append(text)

    def done(self) -> str:
        """Everything; the terminal's style is its default then."""
        self._written.append(self._around(self._style)[1])
        self._style = None
        return "".join(self._written)

    def _around(self, style: Style | None) -> tuple[str, str]:
        """What goes before and after a text of this style."""
        if style not in self._codes:
            before, _, after = Strip([Segment(_MARK, style)]).render(self._console).partition(_MARK)
            self._codes[style] = before, after
        return self._codes[style]


class ChangedCells(CompositorUpdate):
    """An update that sends only what differs from ``shown``."""

    def __init__(self, update: CompositorUpdate, shown: Shown) -> None:
        self._update, self._shown = update, shown

    def render_segments(self, console: Console) -> str:
        return self._shown.render(self._update, console)


def cells_of(strip: Iterable[Segment]) -> list[Cell]:
    """The cells of a line, from its left end on."""
    cells: list[Cell] = []
    for text, style, _ in strip:
        if _NARROW.fullmatch(text):
            cells += [(character, style) for character in text]
            continue
        for character in text:
            width = get_character_cell_size(character)
            if width:
                cells += [(character, style), *[("", style)] * (width - 1)]
            elif cells:
                cells[-1] = (cells[-1][0] + character, cells[-1][1])
    return cells


def _runs(
    cells: Sequence[Cell], known: Sequence[Cell | None], x: int, left: int, right: int
) -> list[tuple[int, int]]:
    """The parts of [left, right) that differ, with whole characters. ``x``: of the first of ``cells``."""
    runs: list[tuple[int, int]] = []
    for place in range(left, right):
        if known[place] == cells[place - x]:
            continue
        since, until = place, place + 1
        while since > x and not cells[since - x][0]:
            since -= 1
        while until < x + len(cells) and not cells[until - x][0]:
            until += 1
        if runs and since - runs[-1][1] < APART:
            runs[-1] = runs[-1][0], max(until, runs[-1][1])
        else:
            runs.append((since, until))
    return runs
