"""One firing, whole: read, made into lines, with the images to show beside it. For a thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.store.assets import Asset, assets_of
from tui.episode.differences import difference_lines
from tui.episode.inks import InkedLine, cut_lines, inked, wrapped
from tui.episode.times import share_text
from tui.episode.values import bytes_text, scalar_text, value_lines
from tui.logfile.index import LogIndex
from tui.logfile.rows import MAX_RECORD_BYTES, Record, Row, RowReader

AT_ONCE_BYTES = 256 * 1024
AT_ONCE_LINES, ALL_LINES = 1_500, 50_000
RAW_CHARACTERS = 4_000
_PAYLOAD = ("inputs", "outputs", "inner_log", "error")
_HEAD = ("step", "node_id", "node_label", "node_type", "transfer_bytes")
_TIMES = ("duration_ms", "queue_wait_ms", "compute_ms", "transport_ms")
_TOLD = frozenset((*_PAYLOAD, *_HEAD, *_TIMES))
LOOKED_AT_FOR_A_FRAME = 48
"""Rows around one without an image that are looked at for its step's."""


@dataclass(frozen=True)
class Wanted:
    """What is to be shown. whole: nothing cut. changes: what changed since the step before."""

    row: int
    width: int
    wrap: bool = True
    whole: bool = False
    changes: bool = False


@dataclass(frozen=True)
class Detail:
    """lines: for ``wanted.width``. images: the record's own, else the nearest of its step or before, which
    ``borrowed`` names. cut: ``enter`` shows more."""

    wanted: Wanted
    title: str
    lines: tuple[InkedLine, ...]
    images: tuple[Asset, ...] = ()
    borrowed: str = ""
    cut: bool = False


class DetailReader:
    """Of an episode's log. One call at a time; not the reader of whoever lists rows meanwhile."""

    def __init__(self, index: LogIndex, folder: Path) -> None:
        self._index = index
        self._folder = folder
        self._reader = RowReader(index)

    def detail(self, wanted: Wanted) -> Detail:
        """Raises OSError where the log cannot be read any more."""
        row = self._reader.row(wanted.row)
        limit = MAX_RECORD_BYTES if wanted.whole or row.size > MAX_RECORD_BYTES else AT_ONCE_BYTES
        record = self._reader.record(wanted.row, limit)
        lines = list(self._lines(row, record, wanted))
        shown = wrapped(lines, wanted.width) if wanted.wrap else iter(lines)
        most = ALL_LINES if wanted.whole else AT_ONCE_LINES
        told = "… {}: " + ("o opens them in the editor" if wanted.whole else "enter shows all")
        kept = tuple(cut_lines(list(shown), most, told))
        images, borrowed = self._images(wanted.row, record)
        cut = not wanted.whole and (
            len(kept) > most or any("enter shows all" in t for line in kept for t, _ in line)
        )
        return Detail(wanted, _title(row), kept, images, borrowed, cut)

    def _lines(self, row: Row, record: Record, wanted: Wanted) -> Iterator[InkedLine]:
        head = row.head
        name = head.node_label if head.node_label not in ("", head.node_id) else ""
        yield (
            (head.node_id or "?", "strong"),
            (f"  {name}" if name else "", "plain"),
            (f"  {head.node_type}", "dim"),
        )
        yield inked(share_text(head), "dim")
        error = record.fields.get("error") or head.error
        if error:
            yield inked("")
            yield from _error_lines(error if isinstance(error, str) else scalar_text(error))
        yield inked("")
        if record.problem:
            yield from _unread(record, wanted)
        elif wanted.changes:
            yield from self._changes(wanted.row, record)
        else:
            yield from _sections(record.fields, whole=wanted.whole)

    def _changes(self, number: int, record: Record) -> Iterator[InkedLine]:
        before = self._index.same_before(number)
        if before is None:
            yield inked("the node has not fired in an earlier step: nothing to compare with", "dim")
            return
        earlier = self._reader.record(before)
        if earlier.problem:
            yield inked(f"row {before + 1}, its firing before, cannot be compared: {earlier.problem}", "warn")
            return
        yield inked(f"against step {self._index.steps[before]}, row {before + 1}", "dim")
        yield from difference_lines(earlier.fields, record.fields)

    def _images(self, number: int, record: Record) -> tuple[tuple[Asset, ...], str]:
        own = _unique(asset for asset in assets_of(record.fields, self._folder) if asset.is_image)
        if own:
            return own, ""
        for other in self._nearest(number):
            found = assets_of(self._reader.record(other, AT_ONCE_BYTES).fields, self._folder)
            if images := _unique(asset for asset in found if asset.is_image):
                return images, f"step {self._index.steps[other]}, {self._index.node_id(other)}"
        return (), ""

    def _nearest(self, number: int) -> Iterator[int]:
        """The rows before it, the nearest first, and those after it in its step."""
        yield from range(number - 1, max(-1, number - LOOKED_AT_FOR_A_FRAME), -1)
        last = min(self._index.rows, number + LOOKED_AT_FOR_A_FRAME)
        for other in range(number + 1, last):
            if self._index.steps[other] != self._index.steps[number]:
                return
            yield other


def _error_lines(error: str) -> Iterator[InkedLine]:
    """A traceback's last line says what is wrong, so it comes first."""
    if error.startswith("Traceback "):
        yield inked(error.rstrip().rpartition("\n")[2], "bad")
        yield inked("")
    yield from (inked(line.expandtabs(4), "bad") for line in error.rstrip("\n").split("\n"))


def _title(row: Row) -> str:
    return f"row {row.number + 1}  step {row.head.step}  {row.head.node_id}"


def _sections(fields: Mapping[str, Any], *, whole: bool) -> Iterator[InkedLine]:
    for side in ("outputs", "inputs"):
        yield inked(side, "strong")
        ports = fields.get(side)
        if not isinstance(ports, dict):
            yield from value_lines("?", ports, indent=2, whole=whole)
        elif not ports:
            yield inked("  none", "dim")
        else:
            for port, value in ports.items():
                yield from value_lines(port, value, indent=2, whole=whole)
        yield inked("")
    inner = fields.get("inner_log")
    if inner:
        yield inked("inner log", "strong")
        for entry in inner if isinstance(inner, list) else [inner]:
            if isinstance(entry, dict) and isinstance(entry.get("key"), str):
                yield from value_lines(entry["key"], entry.get("value"), indent=2, whole=whole)
            else:
                yield from value_lines("-", entry, indent=2, whole=whole)
        yield inked("")
    yield inked("firing", "strong")
    for name, value in fields.items():
        if name not in _TOLD and value not in (None, "", {}, []):
            yield from value_lines(name, value, indent=2, whole=whole)


def _unread(record: Record, wanted: Wanted) -> Iterator[InkedLine]:
    if record.size > AT_ONCE_BYTES and not wanted.whole and record.size <= MAX_RECORD_BYTES and record.text:
        yield inked(f"{bytes_text(record.size)} in one line: enter shows all", "warn")
    elif record.size > MAX_RECORD_BYTES:
        yield inked(
            f"{bytes_text(record.size)} in one line, too many to show: o opens the log in the editor", "warn"
        )
    else:
        yield inked(record.problem, "warn")
    yield inked("")
    yield inked(record.text[:RAW_CHARACTERS], "dim")


def _unique(assets: Iterator[Asset]) -> tuple[Asset, ...]:
    """Each file once, under its first port."""
    return tuple({asset.path: asset for asset in reversed(list(assets))}.values())[::-1]
