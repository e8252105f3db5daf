"""A table as CSV (RFC 4180, UTF-8) that a spreadsheet shows, and never runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from engine.cli.exports.tables import Table

RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters that make some spreadsheet take a text for a formula (OWASP, CSV injection)."""


def csv_lines(table: Table) -> Iterator[bytes]:
    """The file, line by line. A text that could be taken for a formula begins with an apostrophe."""
    yield _line(list(table.header))
    for row in table.rows:
        yield _line(row)


def _line(cells: list[str | float | None]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow([_safe(cell) for cell in cells])
    return line.getvalue().encode("utf-8", "replace")


def _safe(cell: str | float | None) -> str | float | None:
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\0", "\u2400")
    return f"'{text}" if text.lstrip(" ").startswith(RUN_BY_SPREADSHEETS) else text
