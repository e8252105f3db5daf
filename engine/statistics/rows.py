"""What statistics read of a run: its finished episodes, and which numbers were measured in them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, SupportsFloat, TypeVar

from engine.statistics.kinds import is_rate

Identity = tuple[int, str, int]
"""(episode index, canonical text of its selectors, repeat)."""
Episode = tuple[int, str]
"""(episode index, canonical text of its selectors): what the repeats of an episode share."""


class Row(Protocol):
    """What is read of an episode row. ``measures``: its metrics, and those of its scores that were measured.
    ``graded``: of the latter, whether the value is nothing but a pass (1) or a fail (0). ``scene_id`` is ""
    and ``task`` ``_default`` where there is none."""

    @property
    def identity(self) -> Identity: ...
    @property
    def status(self) -> str: ...
    @property
    def error_class(self) -> str | None: ...
    @property
    def measures(self) -> Mapping[str, SupportsFloat | None]: ...
    @property
    def graded(self) -> Mapping[str, bool]: ...
    @property
    def task(self) -> str: ...
    @property
    def scene_id(self) -> str: ...
    def awaits(self, metric: str) -> bool:
        """Whether the metric, which it lacks, is a score that may still come."""


class Place(NamedTuple):
    """Where a value was measured, as far as it bears on how far the value is independent of others."""

    episode: Episode
    task: str
    scene: str


@dataclass(slots=True)
class Column:
    """One metric over the completed rows in which it was measured, in identity order: values, and where.
    graded: of scores, whether all are nothing but passes and failures; None of other metrics."""

    places: list[Place] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    graded: bool | None = None

    def is_rate(self, metric: str) -> bool:
        """See :func:`engine.statistics.kinds.is_rate`."""
        return is_rate(self.values, metric, self.graded)


R = TypeVar("R", bound=Row)


def place_of(row: Row) -> Place:
    """The place of a row, the same for every repeat of an episode."""
    index, selectors, _ = row.identity
    return Place((index, selectors), row.task, row.scene_id)


def finite(value: SupportsFloat | None) -> float | None:
    """``value`` as a Python float, or None where it is not a finite number: that is, not measured."""
    if value is None:
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def measured(row: Row, metric: str) -> float | None:
    """The metric's value in a completed row; None where it was not measured or the row did not complete."""
    return finite(row.measures.get(metric)) if row.status == "completed" else None


def columns(rows: Iterable[Row]) -> dict[str, Column]:
    """Every metric that was measured at least once, by name."""
    found: defaultdict[str, Column] = defaultdict(Column)
    for row in sorted(rows, key=lambda row: row.identity):
        if row.status != "completed":
            continue
        place, graded = place_of(row), row.graded
        for name, raw in row.measures.items():
            value = finite(raw)
            if value is not None:
                found[name].places.append(place)
                found[name].values.append(value)
                found[name].graded = both_graded(found[name].graded, graded.get(name))
    return dict(sorted(found.items()))


def both_graded(left: bool | None, right: bool | None) -> bool | None:
    """What several values together are: nothing but passes and failures only where each is."""
    known = [graded for graded in (left, right) if graded is not None]
    return all(known) if known else None


def column(rows: Iterable[Row], metric: str) -> Column:
    """One metric; empty where it was never measured."""
    return columns(rows).get(metric, Column())


def settle(lines: Iterable[R]) -> tuple[list[R], int]:
    """(final rows in identity order, how many of them were retried), from rows in the order of their writing.

    The last row of an identity wins; it was retried if an earlier one had not completed.
    """
    final: dict[Identity, R] = {}
    retried: set[Identity] = set()
    for line in lines:
        earlier = final.get(line.identity)
        if earlier is not None and earlier.status != "completed":
            retried.add(line.identity)
        final[line.identity] = line
    return [final[identity] for identity in sorted(final)], len(retried)
