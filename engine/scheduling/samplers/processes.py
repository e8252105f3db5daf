"""Which processes there are, who started whom, and what they weigh.

Resident sizes come with the list and count shared pages again for each process: a worker pool forked from one
parent looks five times its size. Proportional sizes are right and cost 20 ms for a process of 1 GiB, so they
are read for the processes that matter, the longest unread first, for a bounded time a sample.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from engine.scheduling.machine import Process

_MB = 1 << 20
_PAGE = os.sysconf("SC_PAGE_SIZE")
PSS_BUDGET_SEC = 0.025


class ProcessSampler:
    """Reads them; remembers the proportional sizes that it read."""

    def __init__(self, proc: Path = Path("/proc"), budget_sec: float = PSS_BUDGET_SEC) -> None:
        self._proc = proc
        self._budget = budget_sec
        self._pss: dict[int, float] = {}  # the longest unread first

    def read(self, roots: Collection[int]) -> dict[int, Process]:
        """Every process, by pid. Those below ``roots`` carry their proportional size, once it was read."""
        table = {process.pid: process for process in self._all()}
        ours = set(below(table, roots))
        self._pss = {pid: mb for pid, mb in self._pss.items() if pid in ours}
        self._read_pss(ours)
        for pid, mb in self._pss.items():
            table[pid] = msgspec.structs.replace(table[pid], pss_mb=mb)
        return table

    def _all(self) -> Iterable[Process]:
        for name in os.listdir(self._proc):
            if name.isdigit():
                with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
                    yield _parse((self._proc / name / "stat").read_bytes())

    def _read_pss(self, ours: set[int]) -> None:
        deadline = time.monotonic() + self._budget
        unread = sorted(ours - self._pss.keys())
        for pid in [*unread, *self._pss]:
            self._pss.pop(pid, None)
            with suppress(OSError):
                self._pss[pid] = _pss_mb(self._proc / str(pid) / "smaps_rollup")
            if time.monotonic() >= deadline:
                break


def below(table: Mapping[int, Process], roots: Collection[int]) -> dict[int, int]:
    """The processes at and below ``roots``, each with the root that is nearest above it."""
    found: dict[int, int | None] = {root: root for root in roots}
    for pid in table:
        path = []
        here = pid
        while here not in found and here in table:
            found[here] = None  # a circle, which pid reuse can make of a list read piece by piece, ends here
            path.append(here)
            here = table[here].parent
        nearest = found.get(here)
        found.update(dict.fromkeys(path, nearest))
    return {pid: root for pid, root in found.items() if root is not None and pid in table}


def _parse(stat: bytes) -> Process:
    opening, closing = stat.index(b"("), stat.rindex(b")")  # a name may hold both
    fields = stat[closing + 2 :].split()
    return Process(
        pid=int(stat[:opening]),
        parent=int(fields[1]),
        name=stat[opening + 1 : closing].decode(errors="replace"),
        rss_mb=int(fields[21]) * _PAGE / _MB,
    )


def _pss_mb(path: Path) -> float:
    for line in path.read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"{path} tells no Pss")
