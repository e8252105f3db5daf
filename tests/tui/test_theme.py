from __future__ import annotations

from typing import get_args

import pytest
from rich.cells import cell_len
from textual.app import App
from textual.color import Color

from engine.store.preferences import Preferences, Theme
from tests.tui.screen import centre, settled, until_seen
from tui.appearance import first_drawing
from tui.restoring import kept_state
from tui.state_file import UiState
from tui.theme import OUTCOMES, THEMES, Glyphs, Marks, prefers_ascii, worst


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("theme", THEMES)
def test_outcomes_are_told_apart_without_colour(theme: str, ascii: bool) -> None:
    glyphs = [Marks(theme, ascii=ascii)[outcome].glyph for outcome in OUTCOMES]
    assert len(set(glyphs)) == len(OUTCOMES)
    assert all(cell_len(glyph) == 1 for glyph in glyphs)
    assert not ascii or all(glyph.isascii() for glyph in glyphs)


@pytest.mark.parametrize("theme", ["mono-dark", "mono-light"])
def test_without_colour_there_is_none(theme: str) -> None:
    assert all(Marks(theme)[outcome].style.color is None for outcome in OUTCOMES)


@pytest.mark.parametrize("theme", [name for name in THEMES if THEMES[name].outcomes])
def test_every_outcome_can_be_read_on_the_background(theme: str) -> None:
    look = THEMES[theme]
    paper = Color.parse(look.textual.background or "")
    for outcome, colour in look.outcomes.items():
        assert _contrast(Color.parse(colour), paper) >= 3, outcome


def test_where_no_colour_is_wanted_the_theme_has_none() -> None:
    light = Preferences(theme="tower-light")
    assert first_drawing(light, UiState(), {"NO_COLOR": "1"}).theme == "mono-light"
    assert first_drawing(Preferences(), UiState(), {"NO_COLOR": "1"}).theme == "mono-dark"
    assert first_drawing(light, UiState(), {}).theme == "tower-light"


async def test_no_colour_at_all_is_sent_then_and_the_theme_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = centre(state=UiState(theme="colour-blind"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("M", "slash", "n")
        styles = [segment.style for strip in app.screen._compositor.render_strips() for segment in strip]
        colours = {
            colour.name for style in styles if style for colour in (style.color, style.bgcolor) if colour
        }
        assert colours == {"default"}
        assert kept_state(app, app.home).theme == "colour-blind"


def _contrast(one: Color, other: Color) -> float:
    """WCAG 2.1's contrast ratio."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    parts = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def test_every_glyph_is_one_cell_and_ascii_where_asked() -> None:
    for ascii in (False, True):
        for name, glyphs in vars(Glyphs(ascii=ascii)).items():
            assert name == "plus_minus" or all(cell_len(glyph) == 1 for glyph in glyphs)
            assert not ascii or glyphs.isascii()
    assert len(Glyphs().bar) == len(Glyphs(ascii=True).bar) == 8


async def test_textual_takes_every_theme() -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        for look in THEMES.values():
            app.register_theme(look.textual)
            app.theme = look.textual.name
            await pilot.pause()


def test_the_worst_of_several_is_shown() -> None:
    assert worst({"success", "running", "timeout"}) == "timeout"


def test_a_console_gets_ascii() -> None:
    assert prefers_ascii({"TERM": "linux"})


def test_every_theme_that_the_settings_know_is_there() -> None:
    assert tuple(THEMES) == get_args(Theme)


async def test_the_theme_in_use_is_marked_among_all() -> None:
    app = centre(preferences=Preferences(theme="colour-blind"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(":", *"theme", "enter")
        await until_seen(pilot, "colour-blind  in use")
        await pilot.press("enter")
        assert app.drawing.theme == "colour-blind"
