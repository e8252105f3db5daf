from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from engine.text import one_line, visible

BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(st.text(st.characters(blacklist_categories=())))
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in shown)
    assert not any(unicodedata.bidirectional(c) in BIDI for c in shown)


def test_what_is_harmless_stays_as_it_is() -> None:
    text = "go to the [red] door, 家 👩‍🚀 é"
    assert visible(text) == text


def test_escapes_can_be_seen() -> None:
    assert visible("\x1b[31mred\x9b0m\x07\n\u202e") == "␛[31mred␛[0m␇␊‹U+202E›"


def test_what_takes_no_cell_can_be_seen() -> None:
    assert visible("a\u200bb\ufeffc\U000e0041") == "a‹U+200B›b‹U+FEFF›c‹U+E0041›"


def test_one_line_of_a_text() -> None:
    assert one_line("\n boom\nTraceback\n") == "boom …"
    assert one_line("boom\n") == "boom"
    assert one_line("") == ""
