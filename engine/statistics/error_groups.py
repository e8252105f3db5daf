"""What went wrong, counted: errors that differ in numbers and ids alone are one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.store.records import EpisodeRow

LONGEST = 1000
"""Characters of an error's line that are looked at."""
GAP = "…"
_VARIES = re.compile(
    r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # UUIDs
    r"|0x[0-9a-f]+"
    r"|\b(?=[a-f]*[0-9])[0-9a-f]{8,}\b"  # digests
    r"|\btmp[a-z0-9_]{8}\b"
    r"|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+\b)?)",
    re.IGNORECASE,
)


@dataclass
class ErrorGroup:
    """Errors of one kind. first: the row of the first of them; count: how many episodes."""

    first: EpisodeRow
    count: int = 0
    _parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The line that they share, with ``…`` for each number or id in which they differ."""
        return "".join(self._parts)

    def add(self, parts: list[str]) -> None:
        """One more, in the parts of :func:`_parts_of`."""
        same = zip(self._parts or parts, parts, strict=True)
        self._parts = [mine if mine == its else GAP for mine, its in same]
        self.count += 1


def grouped_errors(rows: Iterable[EpisodeRow]) -> list[ErrorGroup]:
    """The errors of rows by their line, class and end, the commonest first. One that was cancelled did not go
    wrong."""
    found: dict[tuple[str | None, ...], ErrorGroup] = {}
    for row in rows:
        if row.status != "error" or not row.error:
            continue
        parts = _parts_of(row.error)
        key = row.error_class, row.termination, *parts[::2]
        found.setdefault(key, ErrorGroup(row)).add(parts)
    return sorted(found.values(), key=lambda group: -group.count)


def error_line(error: str) -> str:
    """The line that says what went wrong: the first, or of a traceback the last."""
    lines = [line.strip() for line in error.splitlines() if line.strip()] or [""]
    return lines[-1 if lines[0].startswith("Traceback ") else 0]


def _parts_of(error: str) -> list[str]:
    """Text and what varies by turns, beginning and ending with text."""
    return _VARIES.split(error_line(error)[:LONGEST])
