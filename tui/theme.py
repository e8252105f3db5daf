"""Colours and glyphs. An outcome always has a glyph of its own, so no colour is needed to tell two apart."""

from __future__ import annotations

import locale
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from rich.style import Style
from textual.theme import Theme

# Worst first: a cell that stands for several episodes shows the first of theirs.
Outcome = Literal[
    "crash",
    "misconfigured",
    "timeout",
    "stalled",
    "failure",
    "unmeasured",
    "cancelled",
    "paused",
    "waiting",
    "running",
    "scoring",
    "completed",
    "success",
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

_PALETTES = (
    "dark",
    "light",
    "colour-blind",
)  # the last is Okabe and Ito's, told apart with any colour vision
_DRAWN: Mapping[Outcome, tuple[str, str, tuple[str, str, str], Style]] = {
    "crash": ("!", "!", ("#ff4f8b", "#a3004f", "#cc79a7"), Style(bold=True, reverse=True)),
    "misconfigured": ("c", "c", ("#b58cf0", "#6a3d9a", "#f0e442"), Style(bold=True)),
    "timeout": ("░", "t", ("#d9a441", "#8a5a00", "#e69f00"), Style(bold=True)),
    "stalled": ("?", "?", ("#ffb000", "#8f5000", "#f0e442"), Style(bold=True, reverse=True)),
    "failure": ("▓", "x", ("#e0655a", "#b3261e", "#d55e00"), Style(bold=True)),
    "unmeasured": ("~", "~", ("#b9c2cf", "#3f4954", "#cccccc"), Style()),
    "cancelled": ("-", "-", ("#7c8796", "#5c6773", "#999999"), Style(dim=True)),
    "paused": ("=", "=", ("#a58ae0", "#5b3fb0", "#009e73"), Style()),
    "waiting": ("·", ".", ("#7c8796", "#5c6773", "#999999"), Style(dim=True)),
    "running": ("▒", ">", ("#4f9fe0", "#0b5cad", "#56b4e9"), Style()),
    "scoring": ("▞", "s", ("#35c4b5", "#00756a", "#ffffff"), Style()),
    "completed": ("▄", "o", ("#8fa3bf", "#4a5f7a", "#bbbbbb"), Style()),
    "success": ("█", "+", ("#4fae6a", "#1f7a3d", "#0072b2"), Style()),
}


@dataclass(frozen=True)
class Look:
    """A theme for Textual, with the colours of outcomes. outcomes empty: no colour, only emphasis."""

    textual: Theme
    outcomes: Mapping[Outcome, str]


@dataclass(frozen=True)
class Mark:
    """How an outcome is drawn: one cell wide."""

    glyph: str
    style: Style


def _coloured(name: str, palette: str, paper: str, ink: str) -> Look:
    column = _PALETTES.index(palette)
    colours = {outcome: drawn[2][column] for outcome, drawn in _DRAWN.items()}
    theme = Theme(
        name=name,
        primary=colours["running"],
        secondary=colours["paused"],
        warning=colours["timeout"],
        error=colours["failure"],
        success=colours["success"],
        accent=colours["running"],
        background=paper,
        surface=paper,
        foreground=ink,
        dark=palette != "light",
    )
    return Look(theme, colours)


def _colourless(name: str, paper: str, ink: str, *, dark: bool) -> Look:
    theme = Theme(
        name=name,
        primary=ink,
        secondary=ink,
        warning=ink,
        error=ink,
        success=ink,
        accent=ink,
        foreground=ink,
        background=paper,
        surface=paper,
        panel=paper,
        dark=dark,
    )
    return Look(theme, {})


THEMES: Mapping[str, Look] = {
    look.textual.name: look
    for look in (
        _coloured("tower-dark", "dark", "#11161d", "#d5dce5"),
        _coloured("tower-light", "light", "#fafafa", "#1d242c"),
        _coloured("colour-blind", "colour-blind", "#11161d", "#e6e6e6"),
        _colourless("mono-dark", "#101010", "#d0d0d0", dark=True),
        _colourless("mono-light", "#f4f4f4", "#202020", dark=False),
    )
}


class Marks:
    """The glyph and style of each outcome in one theme. ascii: no glyph outside ASCII."""

    def __init__(self, theme: str, *, ascii: bool = False) -> None:
        colours = THEMES[theme].outcomes
        self._marks = {
            outcome: Mark(letter if ascii else glyph, Style(color=colours.get(outcome)) + emphasis)
            for outcome, (glyph, letter, _, emphasis) in _DRAWN.items()
        }

    def __getitem__(self, outcome: Outcome) -> Mark:
        return self._marks[outcome]


class Glyphs:
    """Everything else that is drawn. bar: eight fillings of a cell, from an eighth to full."""

    def __init__(self, *, ascii: bool = False) -> None:
        self.bar = "--==###@" if ascii else "▏▎▍▌▋▊▉█"
        self.spark = "_..--^^#" if ascii else "▁▂▃▄▅▆▇█"
        self.cursor = ">" if ascii else "▶"
        self.mark = "*" if ascii else "●"
        self.up = "^" if ascii else "▲"
        self.down = "v" if ascii else "▼"
        self.rule = "-" if ascii else "─"
        self.column = "|" if ascii else "│"
        self.cut = "~" if ascii else "…"
        self.plus_minus = "+-" if ascii else "±"


def worst(outcomes: set[Outcome]) -> Outcome:
    """The one to show for several. Raises ValueError for none."""
    return min(outcomes, key=OUTCOMES.index)


def prefers_ascii(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this terminal is one that shows no glyphs beyond ASCII."""
    if environ.get("TERM", "") in ("linux", "vt100", "vt220"):
        return True
    return locale.getpreferredencoding(False).lower().replace("-", "") != "utf8"
