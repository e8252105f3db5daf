"""Where each line of a log begins, and the few facts that filters and jumps need: 21 bytes a line."""

from __future__ import annotations

import os
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec

from tui.logfile.heads import EDGE_BYTES, LONG_BYTES, head_of_edges, read_head

_SCAN_BYTES = 1 << 20


class _Facts(msgspec.Struct, gc=False):
    step: Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)] = -1
    node_id: str = ""
    duration_ms: float = 0.0
    error: str | None = None
    inner_log: msgspec.Raw = msgspec.Raw(b"[]")


class _Ordinals(dict[str, int]):
    """Node ids in the order in which they were first seen."""

    def __missing__(self, node_id: str) -> int:
        ordinal = self[node_id] = len(self)
        return ordinal


class LogIndex:
    """Rows are the log's whole lines, from 0; a last line without its newline is not there yet.

    One thread extends it (:meth:`advance`), any may read the rows below ``rows``, which only grows.
    The constructor and :meth:`advance` raise OSError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._buffer = bytearray(LONG_BYTES)
        self._decoder = msgspec.json.Decoder(_Facts)
        self._lock = threading.Lock()
        self._closed = False
        self._torn = 0
        self._ordinals = _Ordinals()
        self.rows = 0
        self.starts = array("Q", [0])  # and the end of the last
        self.steps = array("i")
        self.nodes = array("I")
        self.durations_ms = array("f")
        self.errors = array("I")
        self.warnings = array("I")
        self._step_rows = array("I")

    @property
    def node_ids(self) -> list[str]:
        """By the numbers in ``nodes``."""
        return list(self._ordinals)

    @property
    def size(self) -> int:
        """Bytes indexed."""
        return self.starts[-1]

    def file_size(self) -> int:
        return os.fstat(self._fd).st_size

    def is_replaced(self) -> bool:
        """Whether the path now holds another file, or less of this one: index it anew."""
        try:
            there = os.stat(self.path)
        except OSError:
            return False
        ours = os.fstat(self._fd)
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino) or ours.st_size < self.size

    def advance(self) -> bool:
        """Index the next part of the file, about a millisecond's or two; False at its end, for now."""
        with self._lock:
            if self._closed:
                return False
            read = os.preadv(self._fd, [self._buffer], self.size)
            whole = self._buffer.rfind(b"\n", 0, read) + 1
            if whole:
                self._take(bytes(memoryview(self._buffer)[:whole]))
                return True
            return read == len(self._buffer) and self._take_long()

    def extend(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Index all that is there, until ``stop``; whether the end was reached. For a thread."""
        while not stop():
            if not self.advance():
                return True
        return False

    def close(self) -> None:
        """No row can be read afterwards; who still extends it comes to an end."""
        with self._lock:
            self._closed = True
            os.close(self._fd)

    def span(self, row: int) -> tuple[int, int]:
        """The bytes of a row, its newline included: from, to."""
        return self.starts[row], self.starts[row + 1]

    def read(self, start: int, size: int) -> bytes:
        return os.pread(self._fd, size, start)

    def row_at(self, offset: int) -> int:
        """The row that holds a byte of the file; the last one beyond the end, 0 if there are none."""
        return max(0, bisect_right(self.starts, offset, hi=self.rows) - 1)

    def node_id(self, row: int) -> str:
        return self.node_ids[self.nodes[row]]

    def is_error(self, row: int) -> bool:
        return _has(self.errors, row)

    def is_warning(self, row: int) -> bool:
        return _has(self.warnings, row)

    def first_error(self) -> int | None:
        return self.errors[0] if self.errors else None

    def next_error(self, row: int) -> int | None:
        return _after(self.errors, row)

    def previous_error(self, row: int) -> int | None:
        return _before(self.errors, row)

    def next_warning(self, row: int) -> int | None:
        return _after(self.warnings, row)

    def previous_warning(self, row: int) -> int | None:
        return _before(self.warnings, row)

    def next_step(self, row: int) -> int | None:
        """The first row of the step after this row's."""
        return _after(self._step_rows, row)

    def previous_step(self, row: int) -> int | None:
        """The first row of the step before this row's."""
        at = bisect_right(self._step_rows, row) - 2
        return self._step_rows[at] if at >= 0 else None

    def same_before(self, row: int) -> int | None:
        """The row of the same node in an earlier step: what a value is compared with."""
        node, step = self.nodes[row], self.steps[row]
        found = range(row - 1, -1, -1)
        return next((at for at in found if self.nodes[at] == node and self.steps[at] != step), None)

    def _take(self, block: bytes) -> None:
        facts = self._facts(block)
        base, end, ends = self.size, 0, []
        while end < len(block):
            end = block.find(b"\n", end) + 1
            ends.append(base + end)
        self._append(ends, facts)

    def _facts(self, block: bytes) -> list[_Facts]:
        try:
            facts = self._decoder.decode_lines(block)
        except (msgspec.DecodeError, RecursionError):
            facts = []
        if len(facts) == block.count(b"\n"):
            return facts
        return [_facts_of(line) for line in block.split(b"\n")[:-1]]

    def _take_long(self) -> bool:
        """A line longer than the buffer: only its edges are read. False if its end is not written yet."""
        at = max(self.size + len(self._buffer), self._torn)
        while part := os.pread(self._fd, _SCAN_BYTES, at):
            newline = part.find(b"\n")
            if newline >= 0:
                self._torn = 0
                end = at + newline
                edge = os.pread(self._fd, EDGE_BYTES, end - EDGE_BYTES)
                head = head_of_edges(bytes(self._buffer[:EDGE_BYTES]), edge)
                facts = _Facts(_small(head.step), head.node_id, head.duration_ms, head.error)
                self._append([end + 1], [facts])
                return True
            at += len(part)
            self._torn = at
        return False

    def _append(self, ends: list[int], facts: list[_Facts]) -> None:
        row = self.rows
        steps = [fact.step for fact in facts]
        ordinals = self._ordinals
        before = [self.steps[-1] if row else None, *steps]
        self.steps.extend(steps)
        self.nodes.extend([ordinals[fact.node_id] for fact in facts])
        self.durations_ms.extend([fact.duration_ms for fact in facts])
        self.starts.extend(ends)
        self.rows += len(facts)
        self.errors.extend([at for at, fact in enumerate(facts, row) if fact.error])
        self.warnings.extend([at for at, fact in enumerate(facts, row) if _warns(fact.inner_log)])
        self._step_rows.extend([at for at, step in enumerate(steps, row) if step != before[at - row]])


def _facts_of(line: bytes) -> _Facts:
    head = read_head(line)
    try:
        inner_log = msgspec.json.decode(line, type=_Facts).inner_log
    except (msgspec.DecodeError, RecursionError):
        inner_log = msgspec.Raw(b"[]")
    return _Facts(_small(head.step), head.node_id, head.duration_ms, head.error or head.problem, inner_log)


def _small(step: int) -> int:
    return step if -(2**31) <= step < 2**31 else -1


def _warns(inner_log: msgspec.Raw) -> bool:
    """Whether a node said something under a key that begins with ``warn``."""
    return len(inner_log) > 2 and b'"key":"warn' in bytes(inner_log).replace(b'": "', b'":"').lower()


def _has(rows: array[int], row: int) -> bool:
    at = bisect_left(rows, row)
    return at < len(rows) and rows[at] == row


def _after(rows: array[int], row: int) -> int | None:
    at = bisect_right(rows, row)
    return rows[at] if at < len(rows) else None


def _before(rows: array[int], row: int) -> int | None:
    at = bisect_left(rows, row) - 1
    return rows[at] if at >= 0 else None
