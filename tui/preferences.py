"""``[ui]`` of evaltower.toml: how the screen looks and behaves."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from engine.store.settings import FILE
from tui.clipboard import Mode

Choice = Literal["auto", "on", "off"]


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """theme: a name of :data:`tui.theme.THEMES`. ascii: no glyph outside ASCII. low_bandwidth: ``auto`` is
    over SSH, or when the terminal is slow. clipboard: see :class:`tui.clipboard.Clipboard`. mouse: the screen
    gets it, so the terminal selects only with shift. images: how the log shows them; ``blocks``: half-blocks;
    ``auto``, ``kitty``, ``sixel``: in pixels where the terminal says that it can, else half-blocks.
    """

    theme: str = "tower-dark"
    ascii: Choice = "auto"
    low_bandwidth: Choice = "auto"
    clipboard: Mode = "auto"
    mouse: bool = True
    images: Literal["blocks", "ascii", "off", "auto", "kitty", "sixel"] = "blocks"


class PreferencesError(Exception):
    """``[ui]`` cannot be used; ``problems`` holds every reason."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{FILE}: [ui] {problem}" for problem in problems))


def make_preferences(table: Mapping[str, Any]) -> Preferences:
    """The preferences under ``[ui]``. Raises PreferencesError with every problem."""
    from tui.theme import THEMES

    fields = {field.name: field for field in msgspec.structs.fields(Preferences)}
    problems: list[str] = []
    for name, value in table.items():
        if name not in fields:
            problems.append(f"there is no key {name!r}{_nearest(name, list(fields))}")
            continue
        try:
            msgspec.convert(value, fields[name].type)
        except msgspec.ValidationError as error:
            problems.append(f"{name}: {error}")
    theme = table.get("theme", Preferences().theme)
    if isinstance(theme, str) and theme not in THEMES:
        problems.append(f"theme: there is no {theme!r}: there are {', '.join(THEMES)}")
    if problems:
        raise PreferencesError(problems)
    return msgspec.convert(table, Preferences)


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f": did you mean {near[0]!r}?" if near else f": there are {', '.join(known)}"
