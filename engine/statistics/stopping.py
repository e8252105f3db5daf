"""When a run has seen enough: the interval of a metric is narrow, judged on the ordered list of episodes."""

from __future__ import annotations

from dataclasses import dataclass

from engine.statistics.aggregate import DEFAULT, How, estimate_column
from engine.statistics.rows import Row, column

LOOK_EVERY = 10


@dataclass(frozen=True, slots=True)
class UntilWidth:
    """Stop once the 95 % interval of ``metric``, end to end, is at most ``width``, in the metric's unit.

    Looked at after ``minimum`` episodes of the list and after every 10 further ones: an early interval is
    too unsure of its own width. Raises ValueError where a field makes no sense.
    """

    metric: str
    width: float
    minimum: int = 30
    how: How = DEFAULT

    def __post_init__(self) -> None:
        if not self.width > 0:
            raise ValueError(f"width is {self.width}; it must be above 0")
        if self.minimum < 1:
            raise ValueError(f"minimum is {self.minimum}; it must be 1 or more")


class WidthWatch:
    """Follows a run whose episodes end in any order, and decides on the longest beginning of the list that
    has ended: the same episodes whichever ended first, and however many workers there were."""

    def __init__(self, rule: UntilWidth) -> None:
        self._rule = rule
        self._waiting: dict[int, Row] = {}
        self._beginning: list[Row] = []
        self._kept: int | None = None

    @property
    def kept(self) -> int | None:
        """How many episodes, from the first of the list on, make up the result; None while undecided."""
        return self._kept

    def ended(self, position: int, row: Row) -> int | None:
        """Note the final row of the episode at this place of the list, from 0 on; answers ``kept``."""
        self._waiting[position] = row
        while self._kept is None and (following := len(self._beginning)) in self._waiting:
            self._beginning.append(self._waiting.pop(following))
            if self._is_narrow():
                self._kept = len(self._beginning)
        return self._kept

    def _is_narrow(self) -> bool:
        beyond = len(self._beginning) - self._rule.minimum
        if beyond < 0 or beyond % LOOK_EVERY:
            return False
        found = column(self._beginning, self._rule.metric)
        interval = estimate_column(found, self._rule.metric, self._rule.how).ci95 if found.values else None
        return interval is not None and interval[1] - interval[0] <= self._rule.width
