"""How things are drawn in one theme: styles by role, and lines made of pieces of untrusted text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from engine.text import visible
from tui.theme import THEMES, Glyphs, Marks

Piece = tuple[str, Style]
"""Text, of whatever origin, and how it looks."""

_CHARACTERS_A_CELL = 4
"""Of a text that is longer, the rest is not even looked at."""


@dataclass(frozen=True)
class Drawing:
    """theme: a name of :data:`tui.theme.THEMES`. slow: low bandwidth, so fewer updates and no images."""

    theme: str = "tower-dark"
    ascii: bool = False
    slow: bool = False
    marks: Marks = field(init=False, compare=False)
    glyphs: Glyphs = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "marks", Marks(self.theme, ascii=self.ascii))
        object.__setattr__(self, "glyphs", Glyphs(ascii=self.ascii))

    @property
    def coloured(self) -> bool:
        return bool(THEMES[self.theme].outcomes)

    @cached_property
    def plain(self) -> Style:
        """Under everything. All others leave the paper as it is."""
        look = THEMES[self.theme].textual
        return Style(color=look.foreground, bgcolor=look.background)

    @cached_property
    def dim(self) -> Style:
        return self._ink("#8a95a5", "#5c6773", Style(dim=True))

    @cached_property
    def strong(self) -> Style:
        return Style(bold=True)

    @cached_property
    def key(self) -> Style:
        """A key to press, a title's number."""
        return self._ink(self.accent, self.accent, Style()) + Style(bold=True)

    @cached_property
    def good(self) -> Style:
        return self.marks["success"].style

    @cached_property
    def bad(self) -> Style:
        return self._ink(self._outcome("failure"), self._outcome("failure"), Style(bold=True))

    @cached_property
    def warn(self) -> Style:
        return self._ink(self._outcome("timeout"), self._outcome("timeout"), Style(bold=True))

    @cached_property
    def cursor(self) -> Style:
        """Over the row under the cursor of the pane that has the keys."""
        return Style(reverse=True, dim=False) if not self.coloured else Style(bgcolor=self._shade(0.30))

    @cached_property
    def resting(self) -> Style:
        """The same, of every other pane."""
        return Style(underline=True) if not self.coloured else Style(bgcolor=self._shade(0.12))

    @cached_property
    def bar(self) -> Style:
        """The first and the last line of the screen."""
        return Style(reverse=True) if not self.coloured else self.plain + Style(bgcolor=self._shade(0.12))

    @property
    def accent(self) -> str:
        return THEMES[self.theme].textual.primary

    def _outcome(self, name: str) -> str:
        return THEMES[self.theme].outcomes.get(name, "") if self.coloured else ""  # type: ignore[call-overload]

    def _ink(self, dark: str, light: str, mono: Style) -> Style:
        if not self.coloured:
            return mono
        return Style(color=dark if THEMES[self.theme].textual.dark else light)

    def _shade(self, share: float) -> str:
        """The paper with ``share`` of the accent."""
        look = THEMES[self.theme].textual
        mixed = [
            round(paper + (ink - paper) * share)
            for paper, ink in zip(_rgb(look.background or "#000000"), _rgb(look.primary), strict=True)
        ]
        return "#" + "".join(f"{part:02x}" for part in mixed)


def strip_of(
    pieces: Iterable[Piece], width: int, base: Style, over: Style | None = None, *, cut: str = ""
) -> Strip:
    """A line of exactly ``width`` cells. Each piece is made harmless; ``over`` lies over everything; ``cut``
    is the end of a text that goes on beyond it."""
    segments: list[Segment] = []
    left = width
    for text, style in pieces:
        if left <= 0:
            if cut and segments and text.strip():
                last = segments.pop()
                shown = set_cell_size(last.text, cell_len(last.text) - len(cut)) + cut
                segments.append(Segment(shown, last.style))
                break
            continue
        shown = visible(text[: left * _CHARACTERS_A_CELL])
        length = cell_len(shown)
        if length > left:
            ends = cut if cell_len(shown.rstrip()) > left else ""
            shown, length = set_cell_size(shown, left - len(ends)) + ends, left
        left -= length
        segments.append(Segment(shown, base + style))
    if left > 0:
        segments.append(Segment(" " * left, base))
    if over is not None:
        segments = [Segment(text, (style or base) + over) for text, style, _ in segments]
    return Strip(segments, width).simplify()


def fit(text: str, width: int, *, right: bool = False, cut: str = "…") -> str:
    """Harmless text in exactly ``width`` cells; where it is longer, its end is cut."""
    shown = visible(text[: (width + 1) * _CHARACTERS_A_CELL])
    length = cell_len(shown)
    if length > width:
        return set_cell_size(shown, max(0, width - 1)) + cut[:width] if width else ""
    return " " * (width - length) + shown if right else shown + " " * (width - length)


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
