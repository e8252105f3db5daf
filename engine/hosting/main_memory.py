"""Main memory, as far as it may be used: what the host has left, or less where a cgroup sets a limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

_MB = 1 << 20


class Room(NamedTuple):
    """In MB of 2**20 bytes. cgroup: of the limit that leaves the least; empty where that is the machine."""

    total_mb: float
    free_mb: float
    cgroup: str = ""


class MainMemory:
    """Reads it. ``proc`` and ``cgroups`` are where the kernel shows itself."""

    def __init__(self, proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> None:
        self._proc = proc
        self._cgroups = cgroups

    def read(self) -> Room:
        """What there is and what is free of it. Page cache that can be dropped counts as free."""
        host = psutil.virtual_memory()
        total, free, tightest = host.total, host.available, ""
        for cgroup, limit, used in self._limits():
            total = min(total, limit)
            if limit - used < free:
                free, tightest = max(0, limit - used), cgroup
        return Room(total / _MB, free / _MB, tightest)

    def _limits(self) -> Iterator[tuple[str, int, int]]:
        """(path, limit, bytes in use) of every cgroup above this process that has a limit."""
        for line in self._lines(self._proc / "self" / "cgroup"):
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                yield from self._walk(self._cgroups, path, "memory.max", "memory.current", "inactive_file")
            elif "memory" in controllers.split(","):
                yield from self._walk(
                    self._cgroups / "memory",
                    path,
                    "memory.limit_in_bytes",
                    "memory.usage_in_bytes",
                    "total_inactive_file",
                )

    def _walk(
        self, mount: Path, path: str, limit: str, usage: str, cache: str
    ) -> Iterator[tuple[str, int, int]]:
        folder = mount / path.lstrip("/")
        # Inside a container the path may be the host's, of which only the mount itself is to be seen.
        folders = [folder, *folder.parents] if folder.is_dir() else [mount]
        for here in folders:
            if not here.is_relative_to(mount):
                return
            most, used = self._number(here / limit), self._number(here / usage)
            if most is not None and used is not None:
                within = "/" + "/".join(here.relative_to(mount).parts)
                yield within, most, used - self._cache(here / "memory.stat", cache)

    def _number(self, path: Path) -> int | None:
        text = "".join(self._lines(path)).strip()
        return int(text) if text.isdigit() else None  # no limit reads "max"

    def _cache(self, path: Path, key: str) -> int:
        for line in self._lines(path):
            name, _, value = line.partition(" ")
            if name == key:
                return int(value)
        return 0

    def _lines(self, path: Path) -> list[str]:
        try:
            return path.read_text().splitlines()
        except OSError:
            return []
