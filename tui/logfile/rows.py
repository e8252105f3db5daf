"""A row as the list shows it, and a record as the detail pane does: read when looked at, and remembered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from engine.text import visible
from tui.logfile.heads import EDGE_BYTES, LONG_BYTES, Head, head_of_edges, read_head
from tui.logfile.index import LogIndex

MAX_ERROR_CHARACTERS = 400
MAX_RECORD_BYTES = 8 << 20

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """One firing. size: bytes of its line. error: its first line, harmless and cut; empty if there was none.

    Ids and labels are the author's text, unchanged: show them by :func:`engine.text.visible`.
    """

    number: int
    size: int
    head: Head
    error: str


@dataclass(frozen=True)
class Record:
    """A whole line. fields: decoded; empty where ``problem`` says why they could not be. text: then, the
    beginning of the line. Neither is harmless before it went through :mod:`tui.sanitize`."""

    number: int
    size: int
    fields: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    problem: str = ""


class RowReader:
    """Rows and records of an indexed log. Raises OSError where the file cannot be read any more."""

    def __init__(self, index: LogIndex, *, rows: int = 4096, records: int = 16) -> None:
        self._index = index
        self._rows: _Recent[Row] = _Recent(rows)
        self._records: _Recent[Record] = _Recent(records)

    def row(self, number: int) -> Row:
        """Cheap enough for each line of a screen, whatever the line's length."""
        return self._rows.get(number, self._read_row)

    def record(self, number: int, limit: int = MAX_RECORD_BYTES) -> Record:
        """The whole line, if it is not longer than ``limit`` bytes. For a thread, where it may be long."""
        start, end = self._index.span(number)
        if end - start > limit:
            text = self._index.read(start, EDGE_BYTES).decode("utf-8", "replace")
            problem = f"{end - start} bytes are too many to show: open it in the editor"
            return Record(number, end - start, text=text, problem=problem)
        return self._records.get(number, self._read_record)

    def raw(self, number: int, limit: int = MAX_RECORD_BYTES) -> bytes:
        """The line as it is in the file, without its newline; at most its first ``limit`` bytes."""
        start, end = self._index.span(number)
        return self._index.read(start, min(end - 1 - start, limit))

    def _read_row(self, number: int) -> Row:
        start, end = self._index.span(number)
        if end - start > LONG_BYTES:
            first = self._index.read(start, EDGE_BYTES)
            head = head_of_edges(first, self._index.read(end - EDGE_BYTES, EDGE_BYTES))
        else:
            head = read_head(self._index.read(start, end - 1 - start))
        return Row(number, end - start, head, _first_line(head.error or head.problem))

    def _read_record(self, number: int) -> Record:
        line = self.raw(number)
        try:
            fields = msgspec.json.decode(line)
            problem = "" if isinstance(fields, dict) else "not a JSON object"
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            problem = f"not JSON: {error}"
        if problem:
            return Record(number, len(line) + 1, text=line.decode("utf-8", "replace"), problem=problem)
        return Record(number, len(line) + 1, fields=fields)


class _Recent(Generic[T]):
    """The things looked at last, by number."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[int, T] = OrderedDict()

    def get(self, number: int, make: Callable[[int], T]) -> T:
        if number in self._kept:
            self._kept.move_to_end(number)
            return self._kept[number]
        made = self._kept[number] = make(number)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return made


def _first_line(error: str) -> str:
    """The last line of a traceback names the error; else the first line does."""
    text = error[:MAX_ERROR_CHARACTERS]
    if text.startswith("Traceback "):
        text = error[-MAX_ERROR_CHARACTERS:].rstrip().rpartition("\n")[2]
    return visible(text.partition("\n")[0])
