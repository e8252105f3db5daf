"""What went wrong in a run's episodes, the like counted as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from engine.figures import count
from engine.store.records import EpisodeRow
from engine.text import cut, one_line

LONGEST = 400
"""Characters that are told of an error."""

_ITS_OWN = re.compile(
    r"\b0x[0-9a-f]+\b|\bep\d{4,}|(?<=#)\d+|\b(?:episodes?|steps?|seed|pid|worker|repeat|after) \d[\d.]*",
    re.IGNORECASE,
)
"""What of an error is the episode's own: its number, the step, a seed, a process, an address, a duration."""


class ErrorGroup(msgspec.Struct, kw_only=True, frozen=True):
    """Errors that differ in nothing but whose they are. error: of ``episode_index``, the first that had it,
    in one line."""

    error_class: str
    termination: str
    error: str
    episodes: int
    episode_index: int

    @property
    def told(self) -> str:
        return f"{self.error_class}: {self.error}" if self.error_class else self.error


def error_groups(rows: Iterable[EpisodeRow]) -> list[ErrorGroup]:
    """The commonest first; cancelled episodes are none."""
    found: dict[tuple[str | None, str, str], list[EpisodeRow]] = {}
    for row in rows:
        if row.status == "error":
            kind = _ITS_OWN.sub("#", one_line(row.error or ""))
            found.setdefault((row.error_class, row.termination, kind), []).append(row)
    groups = [
        ErrorGroup(
            error_class=error_class or "",
            termination=termination,
            error=cut(one_line(alike[0].error or ""), LONGEST) or termination,
            episodes=len(alike),
            episode_index=alike[0].episode_index,
        )
        for (error_class, termination, _), alike in found.items()
    ]
    return sorted(groups, key=lambda group: -group.episodes)


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
