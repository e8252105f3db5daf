"""Rows of finished runs in one file, so that a root with 10,000 of them is listed without opening each.

A row counts for as long as the run's ``_DONE`` and ``summary.json`` are the files that it was read from. A
run without ``_DONE`` has no row: it is read from its folder each time. The file is a cache: what is lost
with it, or with a writer that another overtakes, is read again.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from engine.store.atomic import write_bytes
from engine.store.records import RunStatus, SummaryHead
from engine.store.rundir import RunDir, read_json, runs_folder

VERSION = 1

Stamp = tuple[int, int, int, int, int, int]
"""Which files a row was read from: inode, time and size of ``_DONE`` and of ``summary.json``."""


class Row(msgspec.Struct, kw_only=True):
    """A finished run in a list. label, scoring: as in its spec.json."""

    head: SummaryHead
    label: str = ""
    scoring: dict[str, Any] = {}


class Entry(msgspec.Struct, array_like=True, gc=False):
    """What a list is filtered by, and the row as JSON: it is decoded only where it is shown."""

    stamp: Stamp
    status: RunStatus
    graph_name: str
    label: str
    row: msgspec.Raw

    def decode(self) -> Row:
        return _ROW.decode(self.row)


class _File(msgspec.Struct):
    version: int
    runs: dict[str, Entry]


class _AskedEval(msgspec.Struct):
    label: str = ""


class _Asked(msgspec.Struct):
    """The little of spec.json that a list shows; its graph can be large."""

    eval: _AskedEval
    scoring: dict[str, Any] = {}


_FILE = msgspec.json.Decoder(_File)
_ROW = msgspec.json.Decoder(Row)


def index_path(root: Path) -> Path:
    """Where the index of a root lies."""
    return root / "outputs" / "system" / "run_index.json"


def _stamp(run: str) -> Stamp | None:
    """Of the folder ``run``; None of a run that has not finished, or whose files cannot be seen."""
    try:
        done, summary = os.stat(f"{run}/_DONE"), os.stat(f"{run}/summary.json")
    except OSError:
        return None
    if not done.st_size:  # a full disk can leave an empty one
        return None
    return (
        done.st_ino,
        done.st_mtime_ns,
        done.st_size,
        summary.st_ino,
        summary.st_mtime_ns,
        summary.st_size,
    )


class RunIndex:
    """The index of a root, as it was on disk. Unreadable, it is empty, and made anew."""

    def __init__(self, root: Path) -> None:
        self._path, self._folder = index_path(root), runs_folder(root)
        self._entries: dict[str, Entry] = {}
        self._changed = False
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            file = _FILE.decode(self._path.read_bytes())
            if file.version == VERSION:
                self._entries = file.runs

    def entry(self, name: str) -> Entry | None:
        """The entry of a finished run, read from its folder where it is not known; None of one that has not
        finished. Raises RunDirError and OSError for files that cannot be read."""
        stamp = _stamp(f"{self._folder}/{name}")
        if stamp is None:
            return None
        known = self._entries.get(name)
        if known is None or known.stamp != stamp:
            known = self._entries[name] = _read_entry(RunDir(self._folder / name), stamp)
            self._changed = True
        return known

    def save(self, names: Collection[str]) -> None:
        """Write what was learnt, without the runs that are not among ``names`` any more.

        Where it cannot be written (a full disk, another user's root), the next reader reads again.
        """
        gone = self._entries.keys() - names
        if not (self._changed or gone):
            return
        left = {name: entry for name, entry in self._entries.items() if name not in gone}
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(self._path, msgspec.json.encode(_File(VERSION, left)), durable=False)


def _read_entry(run: RunDir, stamp: Stamp) -> Entry:
    asked = read_json(run.spec, _Asked)
    head = run.read_summary_head()
    row = Row(head=head, label=asked.eval.label, scoring=asked.scoring)
    return Entry(stamp, head.status, head.config.graph_name, row.label, msgspec.Raw(msgspec.json.encode(row)))
