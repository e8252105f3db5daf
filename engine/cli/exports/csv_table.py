"""A table as CSV (RFC 4180, UTF-8) that a spreadsheet shows, and never runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from engine.cli.exports.tables import Table
from engine.text import visible

RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""First characters that make some spreadsheet take a text for a formula (OWASP, CSV injection). Tabs and ends
of lines, which do so too, are shown as glyphs."""


def csv_lines(table: Table) -> Iterator[bytes]:
    """The file, line by line. What could steer a terminal is shown as a glyph; a text that could be taken for
    a formula begins with an apostrophe."""
    yield _line(list(table.header))
    for row in table.rows:
        yield _line(row)


def _line(cells: list[str | float | None]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow([_safe(cell) for cell in cells])
    return line.getvalue().encode()


def _safe(cell: str | float | None) -> str | float | None:
    if not isinstance(cell, str):
        return cell
    text = visible(cell)
    return f"'{text}" if text.lstrip().startswith(RUN_BY_SPREADSHEETS) else text
