from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from tui.sanitize import SafeText, visible_lines

BLACK = Color(0, 0, 0)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
STEERING = {"Cc", "Cs", "Zl", "Zp"}
BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def _steers(text: str) -> bool:
    return any(unicodedata.category(c) in STEERING or unicodedata.bidirectional(c) in BIDI for c in text)


def _apply(*segments: Segment) -> list[Segment]:
    return SafeText().apply(list(segments), BLACK)


@given(st.lists(st.tuples(ANY_TEXT, st.sampled_from([None, Style(bold=True)])), max_size=5))
def test_no_line_steers_the_terminal_and_every_line_keeps_its_width(
    parts: list[tuple[str, Style | None]],
) -> None:
    segments = [Segment(text, style) for text, style in parts]
    shown = _apply(*segments)
    assert not _steers("".join(text for text, _, _ in shown))
    assert sum(cell_len(s.text) for s in shown) == sum(cell_len(s.text) for s in segments)
    assert all(style is not None for text, style, _ in shown if text)


@given(ANY_TEXT)
def test_no_link_steers_the_terminal(url: str) -> None:
    for _, style, _ in _apply(Segment("text", Style(link=url))):
        assert style is not None
        assert not _steers(style.link or "")
        assert (style.link or "").isascii()


@given(ANY_TEXT)
def test_no_line_of_a_text_steers_the_terminal(text: str) -> None:
    lines = visible_lines(text)
    assert len(lines) == text.count("\n") + 1
    assert not any(_steers(line) for line in lines)


def test_a_harmless_line_is_handed_on_as_it_is() -> None:
    line = [
        Segment("the [red] door, 家 👩‍🚀 é", Style(bold=True)),
        Segment("x", Style(link="https://example.org/a?b=c")),
    ]
    assert SafeText().apply(line, BLACK) is line


def test_glyphs_take_the_blanks_to_their_right_and_leave_the_border() -> None:
    shown = _apply(Segment("│", Style()), Segment("a\x1b[31mb      ", Style()), Segment("│", Style()))
    assert "".join(segment.text for segment in shown) == "│a␛[31mb     │"


def test_tabs_and_line_ends_of_a_text_are_laid_out() -> None:
    assert visible_lines("a\tb\r\nc\rd\n") == ["a   b", "c␍d", ""]


def test_what_takes_no_cell_is_seen_under_every_widget_too() -> None:
    assert "".join(segment.text for segment in _apply(Segment("a\u200bb" + " " * 12))).startswith(
        "a‹U+200B›b"
    )
