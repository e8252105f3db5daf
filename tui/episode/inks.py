"""Lines of text that say what each piece is; how that looks is the theme's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from rich.cells import cell_len, chop_cells

from engine.figures import count
from engine.text import visible

Ink = Literal["plain", "strong", "dim", "key", "good", "bad", "warn"]
Inked = tuple[str, Ink]
"""Text of whatever origin, and what it is."""

InkedLine = tuple[Inked, ...]


def inked(text: str, ink: Ink = "plain") -> InkedLine:
    return ((text, ink),)


def text_of(line: InkedLine) -> str:
    return "".join(text for text, _ in line)


def wrapped(lines: Iterable[InkedLine], width: int) -> Iterator[InkedLine]:
    """Each line in as many of ``width`` cells as it takes; what goes on is indented as the line was."""
    for line in lines:
        shown = tuple((visible(text), ink) for text, ink in line)
        if width < 8 or sum(cell_len(text) for text, _ in shown) <= width:
            yield shown
        else:
            yield from _pieces_in(shown, width)


def _pieces_in(line: InkedLine, width: int) -> Iterator[InkedLine]:
    whole = text_of(line)
    indent = min(len(whole) - len(whole.lstrip(" ")) + 2, width // 3)
    row: list[Inked] = []
    room = width
    for text, ink in line:
        rest = text
        while rest:
            part = _fitting(rest, room)
            if part:
                row.append((part, ink))
                room -= cell_len(part)
                rest = rest[len(part) :]
            if rest:
                yield tuple(row)
                row, room = [(" " * indent, "plain")], width - indent
    yield tuple(row)


def _fitting(text: str, room: int) -> str:
    """The longest beginning that fits, if it can be to the end of a word."""
    head = text[: max(0, room)]
    if cell_len(head) > room:
        head = chop_cells(head, room)[0] if room > 1 else ""
    if len(head) == len(text):
        return head
    blank = head.rfind(" ") + 1
    return head[:blank] if blank > len(head) // 3 else head


def cut_lines(lines: Sequence[InkedLine], most: int, told: str) -> list[InkedLine]:
    """At most so many; ``told`` says of the others, as ``{}``, that they are ``7 more lines``."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[:most], inked(told.format(count(len(lines) - most, "more line")), "warn")]
