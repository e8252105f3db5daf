"""The processes of the machine, to find what a killed shim left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.store.attempts import MARK
from engine.store.process_identity import ProcessIdentity, identity, send_signal


@dataclass(frozen=True)
class Live:
    """A process that was seen: its start tells it from a later one of the same pid."""

    pid: int
    start_ticks: int


@dataclass(frozen=True)
class Processes:
    """Who started whom, at one moment."""

    children: Mapping[int, list[Live]]

    @classmethod
    def read(cls) -> Processes:
        """Raises OSError where /proc cannot be listed."""
        children: dict[int, list[Live]] = {}
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with suppress(OSError, IndexError):  # it may have ended meanwhile
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                children.setdefault(int(fields[1]), []).append(Live(int(name), int(fields[19])))
        return cls(children)

    def below(self, pids: Iterable[int]) -> set[Live]:
        """Everything that these started, and what that started."""
        found: set[Live] = set()
        todo = list(pids)
        while todo:
            new = set(self.children.get(todo.pop(), ())) - found
            found |= new
            todo += [process.pid for process in new]
        return found


def kill(processes: Iterable[Live]) -> int:
    """SIGKILL to those that still live, and to no stranger of the same pid; how many that were."""
    killed = 0
    for process in processes:
        with suppress(OSError):
            who = identity(process.pid)
            killed += who.start_ticks == process.start_ticks and send_signal(who, signal.SIGKILL)
    return killed


def marked(mark: str) -> list[Live]:
    """The processes that have an attempt's mark in their environment."""
    needle = f"{MARK}={mark}\0".encode()
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            who: ProcessIdentity = identity(int(name))
            if needle in Path(f"/proc/{name}/environ").read_bytes():
                found.append(Live(who.pid, who.start_ticks))
    return found
