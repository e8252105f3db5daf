"""How what :mod:`tui.episode.inks` calls a piece looks in a theme."""

from __future__ import annotations

from rich.style import Style

from tui.drawing import Drawing, Piece
from tui.episode.inks import InkedLine


def pieces_of(line: InkedLine, drawing: Drawing) -> list[Piece]:
    styles: dict[str, Style] = {
        "plain": Style.null(),
        "strong": drawing.strong,
        "dim": drawing.dim,
        "key": drawing.key,
        "good": drawing.good,
        "bad": drawing.bad,
        "warn": drawing.warn,
    }
    return [(text, styles[ink]) for text, ink in line]
