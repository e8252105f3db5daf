"""What went wrong, counted: errors that differ in numbers and ids alone are one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from engine.figures import count
from engine.store.records import EpisodeRow
from engine.text import cut

LONGEST = 1000
"""Characters of an error's line that are looked at."""
LONGEST_TOLD = 400
GAP = "…"
_VARIES = re.compile(
    r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # UUIDs
    r"|0x[0-9a-f]+"
    r"|\b(?=[a-f]*[0-9])[0-9a-f]{8,}\b"  # digests
    r"|\btmp[a-z0-9_]{8}\b"
    r"|(?<=\bep)[0-9]+|(?<=[0-9]_r)[0-9]+"  # folders of episodes
    r"|(?<![a-z0-9])(?<!code )(?<!status )(?<!http )(?<!errno )(?<!signal )"
    r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+\b)?)",
    re.IGNORECASE,
)
"""Numbers that say what went wrong, and not whose it is, are words: an exit code, a version."""


class ErrorGroup(msgspec.Struct, kw_only=True, frozen=True):
    """Errors that differ in numbers and ids alone, which are ``…`` in error. episode_index: of the first that
    had it; episodes: how many."""

    error_class: str
    termination: str
    error: str
    episodes: int
    episode_index: int

    @property
    def told(self) -> str:
        return f"{self.error_class}: {self.error}" if self.error_class else self.error


@dataclass
class Alike:
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


def grouped_errors(rows: Iterable[EpisodeRow]) -> list[Alike]:
    """The errors of rows by their line, class and end, the commonest first. One that was cancelled did not go
    wrong."""
    found: dict[tuple[str | None, ...], Alike] = {}
    for row in rows:
        if row.status != "error":
            continue
        parts = _parts_of(row.error or row.termination)
        key = row.error_class, row.termination, *parts[::2]
        found.setdefault(key, Alike(row)).add(parts)
    return sorted(found.values(), key=lambda group: -group.count)


def error_groups(rows: Iterable[EpisodeRow]) -> list[ErrorGroup]:
    """The same as data, each in a line that is not too long."""
    return [
        ErrorGroup(
            error_class=alike.first.error_class or "",
            termination=alike.first.termination,
            error=cut(alike.text, LONGEST_TOLD),
            episodes=alike.count,
            episode_index=alike.first.episode_index,
        )
        for alike in grouped_errors(rows)
    ]


def nothing_measured(groups: Sequence[ErrorGroup]) -> str:
    """Why, where every episode that ended has errored."""
    failed, most = sum(group.episodes for group in groups), groups[0]
    whole = f"all {failed}" if failed > 1 else "the one that ended"
    share = "" if most.episodes == failed else f", {most.episodes} of them"
    return f"no episode was measured: {whole} failed{share} with {most.told}"


def lost_in_short(errors: int, ended: int) -> str:
    """The same for a cell, where the errors themselves are not at hand; empty without any."""
    if not errors:
        return ""
    return f"nothing measured: {errors} of {count(ended, 'episode')} failed"


def error_line(error: str) -> str:
    """The line that says what went wrong: the first, or of a traceback the last."""
    lines = [line.strip() for line in error.splitlines() if line.strip()] or [""]
    return lines[-1 if lines[0].startswith("Traceback ") else 0]


def _parts_of(error: str) -> list[str]:
    """Text and what varies by turns, beginning and ending with text."""
    return _VARIES.split(error_line(error)[:LONGEST])
