"""A table of any length: what is shown of it, in which order, what is under the cursor and what is marked.

Pure. Filter and order are a permutation of the rows; cells are made only for what is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from rich.style import Style

from tui.filtering import Term, parse_terms, passes

R = TypeVar("R")

PLAIN = Style()


@dataclass(frozen=True)
class Column(Generic[R]):
    """value: what is sorted and compared (None is last). text: the cell; ``value`` as text where not given.

    width: in cells; 0 takes what is left, but no less than ``least``. drop: 0 is never left out; of the
    others the greatest goes first where there is no room. style: over the row's.
    """

    key: str
    title: str
    width: int
    value: Callable[[R], Any]
    text: Callable[[R], str] | None = None
    style: Callable[[R], Style] | None = None
    align: Literal["left", "right"] = "left"
    drop: int = 0
    least: int = 8

    def cell(self, row: R) -> str:
        if self.text is not None:
            return self.text(row)
        value = self.value(row)
        return "" if value is None else str(value)

    def told(self, row: R) -> str:
        """What a regex looks at: the value, where it is a text, since a cell may be a mark for it."""
        value = self.value(row)
        return value if isinstance(value, str) else self.cell(row)


class TableModel(Generic[R]):
    """identify: a row's id, under which the cursor and the marks are kept. is_fault: for ``F``, None where
    nothing can be one. tell: all that a regex may find of a row, where its cells, joined, take too long.

    at: the cursor's place in ``order``; order: the rows that are shown. sort: column keys, the first decides;
    ``-`` before one is descending.
    """

    def __init__(
        self,
        columns: Sequence[Column[R]],
        identify: Callable[[R], str],
        *,
        is_fault: Callable[[R], bool] | None = None,
        tell: Callable[[R], str] | None = None,
        sort: Sequence[str] = (),
    ) -> None:
        self.columns = tuple(columns)
        self.rows: Sequence[R] = ()
        self.order: list[int] = []
        self.sort = tuple(sort)
        self.filter = ""
        self.faults_only = False
        self.at = 0
        self.marks: set[str] = set()
        self.identify = identify
        self.is_fault = is_fault
        self._tell = tell
        self._terms: list[Term] = []
        self._haystacks: list[str] | None = None
        self._anchor: str | None = None

    def __len__(self) -> int:
        return len(self.order)

    def set_rows(self, rows: Sequence[R], columns: Sequence[Column[R]] | None = None) -> bool:
        """Show these. False where they are the same objects in the same order."""
        new_columns = columns is not None and [c.key for c in columns] != [c.key for c in self.columns]
        if columns is not None:
            self.columns = tuple(columns)
        if not new_columns and rows is self.rows:
            return False
        kept = self.current_id
        self.rows = rows
        self._haystacks = None
        self._arrange(kept)
        return True

    @property
    def current(self) -> R | None:
        """What is under the cursor."""
        return self.rows[self.order[self.at]] if self.order else None

    @property
    def current_id(self) -> str:
        return self.identify(row) if (row := self.current) is not None else ""

    @property
    def marked(self) -> list[R]:
        """The marked rows, in their order, also those that the filter hides."""
        return [row for row in self.rows if self.identify(row) in self.marks]

    @property
    def targets(self) -> list[R]:
        """What an action is about: the marked rows, else the one under the cursor."""
        return self.marked or ([self.current] if self.current is not None else [])

    def row(self, place: int) -> R:
        return self.rows[self.order[place]]

    def move(self, to: int) -> None:
        """The cursor, as far as there are rows; a range that was begun goes along."""
        before = self.at
        self.at = min(max(0, to), max(0, len(self.order) - 1))
        if self._anchor is not None and before != self.at:
            self._mark_range()

    def move_to_id(self, row_id: str) -> bool:
        """Whether it is shown."""
        for place, index in enumerate(self.order):
            if self.identify(self.rows[index]) == row_id:
                self.at = place
                return True
        return False

    def set_filter(self, typed: str) -> None:
        """Raises FilterError; then the one before stays."""
        self._terms = parse_terms(typed, [column.key for column in self.columns])
        self.filter = typed
        self._arrange()

    def set_faults_only(self, on: bool) -> None:
        self.faults_only = on
        self._arrange()

    def sort_by(self, key: str) -> None:
        """By this column, or the other way round where it is the first already; the others break ties."""
        first = self.sort[0] if self.sort else ""
        chosen = f"-{key}" if first == key else key
        self.sort = (chosen, *(old for old in self.sort if old.lstrip("-") != key))[:3]
        self._arrange()

    def reverse(self) -> None:
        if self.sort:
            first = self.sort[0]
            self.sort = (first[1:] if first.startswith("-") else f"-{first}", *self.sort[1:])
            self._arrange()

    def set_sort(self, sort: Sequence[str]) -> None:
        known = {column.key for column in self.columns}
        self.sort = tuple(key for key in sort if key.lstrip("-") in known)
        self._arrange()

    def toggle_mark(self) -> None:
        if self.order:
            self.marks ^= {self.current_id}

    def begin_range(self) -> None:
        """Mark from here to where the cursor goes; again, the range has ended."""
        self._anchor = self.current_id if self._anchor is None else None
        if self._anchor is not None:
            self._mark_range()

    def mark_all(self) -> None:
        self.marks |= {self.identify(self.rows[index]) for index in self.order}

    def clear_marks(self) -> None:
        self.marks.clear()
        self._anchor = None

    def _mark_range(self) -> None:
        ids = [self.identify(self.rows[index]) for index in self.order]
        if self._anchor in ids:
            low, high = sorted((ids.index(self._anchor), self.at))
            self.marks |= set(ids[low : high + 1])

    def _arrange(self, kept: str | None = None) -> None:
        """Filter and sort anew. kept: the id of the row for the cursor; not given, that of the cursor, whose
        place among the rows is then the same."""
        row = self.order[self.at] if kept is None and self.order else None
        self.order = self._passing()
        by_key = {column.key: column for column in self.columns}
        for key in reversed(self.sort):
            if column := by_key.get(key.lstrip("-")):
                self._sort_once(column, descending=key.startswith("-"))
        if row is not None and row in self.order:
            self.at = self.order.index(row)
        elif not (kept and self.move_to_id(kept)):
            self.at = min(self.at, max(0, len(self.order) - 1))

    def _sort_once(self, column: Column[R], *, descending: bool) -> None:
        values = {index: column.value(self.rows[index]) for index in self.order}
        known = [index for index in self.order if values[index] is not None]
        unknown = [index for index in self.order if values[index] is None]
        try:
            known.sort(key=values.__getitem__, reverse=descending)
        except TypeError:  # a column of numbers and texts
            known.sort(key=lambda index: str(values[index]), reverse=descending)
        self.order = known + unknown

    def _passing(self) -> list[int]:
        """The rows that pass the filter, in their own order; cheap for ten thousand, as a key may be."""
        kept: Sequence[int] = range(len(self.rows))
        if self.faults_only and self.is_fault is not None:
            kept = [index for index in kept if self.is_fault(self.rows[index])]
        for term in self._terms:
            kept = self._satisfying(kept, term)
        return list(kept)

    def _satisfying(self, kept: Sequence[int], term: Term) -> Sequence[int]:
        rows, inverted = self.rows, term.inverted
        if not term.field:
            search, told = term.pattern.search, self._all_told()
            return [index for index in kept if (search(told[index]) is None) is inverted]
        column = next((column for column in self.columns if column.key == term.field), None)
        if column is None:
            return kept if inverted else ()
        value = column.told if term.how == ":" else column.value
        return [index for index in kept if passes(value(rows[index]), term) is not inverted]

    def _all_told(self) -> list[str]:
        """What a regex without a field looks at, a text for each row; made when first asked for."""
        if self._haystacks is None:
            tell = self._tell or (lambda row: "\n".join(column.cell(row) for column in self.columns))
            self._haystacks = [tell(row) for row in self.rows]
        return self._haystacks
