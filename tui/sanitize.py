"""Untrusted text on a terminal: the net under every widget.

Whoever shows data turns it into text by :func:`engine.text.visible` (one line) or :func:`visible_lines`
first, and never passes it through markup. :class:`SafeText` catches what slipped through: it sees every line
of every widget, borders and titles included, after the widget drew it and before it becomes bytes.
"""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.content import Content
from textual.filter import LineFilter

from engine.text import visible

_FOREIGN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_TAB = 4


def visible_lines(text: str) -> list[str]:
    """The lines of a text, split at ``\\n`` and ``\\r\\n`` alone, tabs expanded, each :func:`visible`."""
    return [visible(line.removesuffix("\r").expandtabs(_TAB)) for line in text.split("\n")]


def plain(text: str, style: str = "") -> Content:
    """Untrusted text for a widget that would otherwise take a string for markup."""
    return Content.styled("\n".join(visible_lines(text)), style)


class SafeText(LineFilter):
    """Makes what could steer a terminal visible, in text and in links. A line keeps its width in cells.

    Such characters count as no cell when a widget is laid out, so the cells that their glyphs take are
    taken from the blanks to their right, and at last from the end of the line.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(_is_safe(segment) for segment in segments):
            return segments
        width = sum(cell_len(text) for text, _, _ in segments)
        shown = [Segment(visible(text), _safe_style(style)) for text, style, _ in segments]
        return Segment.adjust_line_length(_take_from_blanks(segments, shown), width)


def _is_safe(segment: Segment) -> bool:
    text, style, _ = segment
    return _FOREIGN.search(text) is None and style is not None and _has_safe_link(style)


def _has_safe_link(style: Style) -> bool:
    return not style.link or (style.link.isascii() and style.link.isprintable())


def _safe_style(style: Style | None) -> Style:
    """Without a link that could steer. Never None, on which Textual's NO_COLOR filter fails."""
    if style is None:
        return Style.null()
    return style if _has_safe_link(style) else style.update_link(None)


def _take_from_blanks(before: list[Segment], after: list[Segment]) -> list[Segment]:
    debt = 0
    taken: list[Segment] = []
    for (old, _, _), (new, style, _) in zip(before, after, strict=True):
        debt += cell_len(new) - cell_len(old)
        kept = new.rstrip(" ")
        blanks = len(new) - len(kept)
        spent = min(debt, blanks)
        debt -= spent
        taken.append(Segment(kept + " " * (blanks - spent), style))
    return [segment for segment in taken if segment.text]
