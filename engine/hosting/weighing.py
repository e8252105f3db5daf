"""What the hosts of this machine weigh, whichever run each belongs to. Linux."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_HOST = "/engine/hosting/host.py"
_MB_A_PAGE = os.sysconf("SC_PAGE_SIZE") / (1 << 20)


class Weight(NamedTuple):
    """A host and what is resident of it and of what it started; pages that several share count in each.
    said_mb: what its nodeset says that it takes; 0 where it does not."""

    pid: int
    nodeset: str
    mb: float
    said_mb: float = 0.0


class _Process(NamedTuple):
    pid: int
    parent: int
    session: int
    mb: float


def weigh(cgroup: str = "", proc: Path = Path("/proc")) -> list[Weight]:
    """The hosts that their runs may end (``--ram-mb``), of all users that can be seen; only those within
    ``cgroup``, where one is given. Reads every process once: milliseconds, for a thread.

    What a host started is what is below it or in its session, which cannot be told of a daemon.
    """
    there = {process.pid: process for process in _processes(proc)}
    hosts = {}
    for process in there.values():
        if process.pid == process.session:  # as every host is
            with suppress(OSError, ValueError):
                words = (
                    (proc / str(process.pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
                )
                if _is_guarded(words) and _is_within(cgroup, proc / str(process.pid) / "cgroup"):
                    hosts[process.pid] = Weight(
                        process.pid, _value(words, "--name"), 0.0, float(_value(words, "--ram-mb"))
                    )
    held = dict.fromkeys(hosts, 0.0)
    for process in there.values():
        owner = next((pid for pid in _above(process, there) if pid in hosts), None)
        if owner is not None:
            held[owner] += process.mb
    return [host._replace(mb=held[host.pid]) for host in hosts.values()]


def _processes(proc: Path) -> Iterator[_Process]:
    for name in os.listdir(proc):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
                fields = (proc / name / "stat").read_bytes().rpartition(b")")[2].split()
                mb = int(fields[21]) * _MB_A_PAGE
                yield _Process(int(name), int(fields[1]), int(fields[3]), mb)


def _above(process: _Process, there: dict[int, _Process]) -> Iterable[int]:
    """Itself, the head of its session, and those who started it."""
    above = [process.pid, process.session]
    while (parent := there.get(process.parent)) is not None and parent.pid not in above[2:]:
        process = parent
        above.append(process.pid)
    return above


def _is_guarded(words: Sequence[str]) -> bool:
    return any(word.endswith(_HOST) for word in words) and "--ram-mb" in words


def _value(words: Sequence[str], option: str) -> str:
    return words[words.index(option) + 1]


def _is_within(cgroup: str, file: Path) -> bool:
    paths = [line.split(":", 2)[2] for line in file.read_text().splitlines()] if cgroup else []
    return not cgroup or any(f"{path}/".startswith(cgroup.rstrip("/") + "/") for path in paths)
