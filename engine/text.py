"""Untrusted text: what could steer a terminal is shown as a glyph, and what is too long is cut visibly."""

from __future__ import annotations

from engine.figures import count

_GLYPHS = {code: chr(0x2400 + code) for code in range(0x20)}
_GLYPHS[0x7F] = "\u2421"
_GLYPHS |= {
    code: "\u241b" + chr(code - 0x40) for code in range(0x80, 0xA0)
}  # C1, as the ESC form it stands for
_BIDI = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_UNSEEN = [0x00AD, 0x180E, 0x200B, *range(0x2060, 0x2065), 0xFEFF, *range(0xE0000, 0xE0080)]
_GLYPHS |= {code: f"‹U+{code:04X}›" for code in [*_BIDI, 0x2028, 0x2029, *_UNSEEN]}
_GLYPHS |= dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


def visible(text: str) -> str:
    """One line that any terminal shows as it is: controls, C1, bidi marks, surrogates and what
    takes no cell, but for joiners, become glyphs."""
    return text.translate(_GLYPHS)


def one_line(text: str) -> str:
    """The first line that says something; … stands for those after it."""
    first, *more = text.strip().split("\n")
    return f"{first.rstrip()} …" if more else first


def cut(text: str, longest: int) -> str:
    """Its first ``longest`` characters, and how many are left out; all of one that is not longer."""
    left = len(text) - longest
    return text if left <= 0 else f"{text[:longest]} [… {count(left, 'character')} left out]"
