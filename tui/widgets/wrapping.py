"""Text that is too long for a line, in several."""

from __future__ import annotations

from rich.cells import cell_len


def wrapped(text: str, width: int) -> list[str]:
    """Broken at spaces; a word that is longer than a line keeps its length."""
    lines, line = [], ""
    for word in text.split():
        if line and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]
