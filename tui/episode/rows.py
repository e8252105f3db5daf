"""Which rows of a log are shown, which one is under the cursor, and which were found."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tui.filtering import FilterError
from tui.logfile.index import LogIndex
from tui.logfile.rows import Row, RowReader

if TYPE_CHECKING:
    from tui.logfile.filters import LogFilter

Jump = Callable[[int], int | None]
"""From a row to another of the index, as :meth:`LogIndex.next_error`."""


class LogRows:
    """The rows of an index that pass the filter; all of them where there is none.

    at: the row under the cursor, by its number in the log. matches: rows that hold what was searched for,
    ascending. touched: the operator has moved. verdict: the row that says why an episode failed that has no
    error; it counts as one.
    """

    def __init__(self, index: LogIndex) -> None:
        self.index = index
        self.reader = RowReader(index)
        self.at = 0
        self.touched = False
        self.verdict: int | None = None
        self.filter: LogFilter | None = None
        self.errors_only = False
        self.matches = array("q")
        self.only_matches = False
        self._shown: Sequence[int] | None = None
        self._hits: Sequence[int] = self.matches
        self._seen = 0

    def __len__(self) -> int:
        return self.index.rows if self._shown is None else len(self._shown)

    @property
    def is_filtered(self) -> bool:
        return self._shown is not None

    def row(self, place: int) -> Row:
        return self.reader.row(self.number(place))

    def number(self, place: int) -> int:
        """The row at a place of what is shown."""
        return place if self._shown is None else int(self._shown[place])

    @property
    def place(self) -> int:
        """Of the cursor, among what is shown."""
        return (
            self.at if self._shown is None else min(bisect_left(self._shown, self.at), max(0, len(self) - 1))
        )

    @property
    def hits(self) -> Sequence[int]:
        """The matches that are shown."""
        return self._hits

    def is_match(self, number: int) -> bool:
        return _holds(self.matches, number)

    def match_place(self) -> int:
        """How many hits there are up to the cursor, its own row included."""
        return bisect_right(self.hits, self.at)

    def move_to(self, place: int) -> None:
        if len(self):
            self.at = self.number(min(max(0, place), len(self) - 1))

    def go_to(self, number: int) -> None:
        """To the row, or the nearest after it that is shown, or the last."""
        self.at = number
        if self._shown is not None and len(self):
            self.at = self.number(min(bisect_left(self._shown, number), len(self) - 1))

    def jump(self, by: Jump) -> bool:
        """Along the index until a row is shown; whether there is one."""
        found = by(self.at)
        while found is not None and not self._shows(found):
            found = by(found)
        if found is not None:
            self.at = found
        return found is not None

    def is_error(self, number: int) -> bool:
        return number == self.verdict or self.index.is_error(number)

    def next_error(self, number: int) -> int | None:
        found = self.index.next_error(number)
        if self.verdict is None or self.verdict <= number:
            return found
        return self.verdict if found is None else min(found, self.verdict)

    def previous_error(self, number: int) -> int | None:
        found = self.index.previous_error(number)
        if self.verdict is None or self.verdict >= number:
            return found
        return self.verdict if found is None else max(found, self.verdict)

    def set_verdict(self, number: int) -> None:
        self.verdict = number
        if self.errors_only:
            self._select()

    def jump_to_match(self, *, forward: bool) -> bool:
        """To the next hit, or the one before; round the end where there is none. Whether there is any."""
        hits = self.hits
        at = bisect_right(hits, self.at) if forward else bisect_left(hits, self.at) - 1
        if len(hits):
            self.at = hits[at % len(hits)]
        return bool(len(hits))

    def jump_step(self, *, forward: bool) -> bool:
        """To the first row of the step after this one, or of the one before; whether there is one.

        From amid a step, back is to its own first row where that is shown.
        """
        return self.jump(self.index.next_step if forward else self._step_before)

    def _step_before(self, row: int) -> int | None:
        first = row
        while first > 0 and self.index.steps[first - 1] == self.index.steps[row]:
            first -= 1
        return self.index.previous_step(row) if first == row else first

    def set_filter(self, wanted: LogFilter | None) -> None:
        """Show the rows that pass, but for its text."""
        self.filter = wanted
        self._select()

    def set_errors_only(self, on: bool) -> None:
        self.errors_only = on
        self._select()

    def set_only_matches(self, on: bool) -> None:
        self.only_matches = on
        self._select()

    def found(self, rows: Sequence[int]) -> None:
        """More rows that match, all after those before."""
        self.matches.extend(rows)
        if self.only_matches:
            self._select()
        else:
            self._find_hits()

    def forget_matches(self, *, keep: bool) -> None:
        """Before another search; ``keep``: still show only what it finds."""
        self.matches = array("q")
        self._hits = self.matches
        if self.only_matches:
            self.only_matches = keep
            self._select()

    def grown(self) -> None:
        """The index has more rows."""
        if self._shown is not None and self.index.rows > self._seen:
            self._select()

    def _shows(self, number: int) -> bool:
        if self._shown is None:
            return True
        return _holds(self._shown, number)

    def _find_hits(self) -> None:
        if self._shown is None or self._shown is self.matches:
            self._hits = self.matches
        else:
            self._hits = sorted(set(self.matches).intersection(self._shown))

    def _select(self) -> None:
        structured = self.filter is not None and bool(replace(self.filter, text="", without=()))
        self._seen = self.index.rows
        if not structured and not self.errors_only:
            self._shown = self.matches if self.only_matches else None
        else:
            from tui.logfile.filters import LogFilter, select

            wanted = replace(self.filter or LogFilter(), text="", without=())
            selected = select(self.index, replace(wanted, errors=wanted.errors or self.errors_only)).tolist()
            if self.errors_only and self.verdict is not None and not self.index.is_error(self.verdict):
                insort(selected, self.verdict)
            kept = set(self.matches) if self.only_matches else None
            self._shown = [row for row in selected if row in kept] if kept is not None else selected
        self._find_hits()
        self.go_to(self.at)


def _holds(rows: Sequence[int], number: int) -> bool:
    at = bisect_left(rows, number)
    return at < len(rows) and rows[at] == number


def parse(typed: str) -> LogFilter:
    """What was typed at ``/``. Raises the tables' FilterError, for what cannot be searched for, too."""
    from tui.logfile import filters
    from tui.logfile.search import Query, SearchError

    try:
        wanted = filters.parse_filter(typed)
        if query := Query(wanted.text, wanted.without):
            query.terms()
    except (filters.FilterError, SearchError) as error:
        raise FilterError(str(error)) from None
    return wanted
