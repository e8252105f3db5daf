"""Ends the host that takes too much before the machine is out of memory, which the kernel would end anywhere.

Admission looks at a run once, before it starts; ``recycle_above_mb`` between two episodes. This looks all the
time, in the run's own process, so that it needs no backend.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from engine.hosting.main_memory import MainMemory, Room
from engine.hosting.process import HostProcess, LastSeen
from engine.hosting.weighing import Weight, weigh

log = logging.getLogger(__name__)

_FASTEST_MB_PER_SEC = 8192.0
"""Some processes that fill memory as fast as they can."""
_SOONEST_SEC, _LATEST_SEC = 0.1, 1.0
_SETTLE_SEC = 0.5
"""After a host has ended, until its memory begins to come back."""
_SLACK = 1.1
_ASSUMED_MB = 1024.0
REMEDY = (
    "take fewer workers (-w), set recycle_above_mb on the nodeset where it grows from episode to episode, or"
    " look for a leak where it grows within one"
)


def floor_mb(total_mb: float) -> float:
    """Main memory below which a host is ended: 5 %, at most 2 GB.

    Half of what admission never gives away, so that no run that keeps to its estimate comes near; and enough
    for the time that it takes to see it and to end a process.
    """
    return min(2048.0, 0.05 * total_mb)


def pause_sec(room: Room) -> float:
    """Until it is looked at again: so soon that the hosts are known before the floor is reached."""
    spare = room.free_mb - 2 * floor_mb(room.total_mb)
    return min(_LATEST_SEC, max(_SOONEST_SEC, spare / _FASTEST_MB_PER_SEC))


def to_end(room: Room, hosts: Sequence[Weight]) -> Weight | None:
    """The one host, of all on the machine, that must go; None where none must. Only its own run ends it.

    That is, where less than ``floor_mb`` is free, the host that is the furthest above what its nodeset says
    (``expected_ram_mb``, and a tenth; 0 where it says nothing). Every run finds the same one, as all see the
    same processes. And it must be to blame: the hosts together hold more than half of what is used; or it
    holds at least the floor, and twice what is usual. That is what its nodeset says, else the median of the
    other hosts of that nodeset, else what admission assumes of a worker. So none ends that keeps to what its
    nodeset says, and none for another process that has filled the machine, unless it is itself far too large.
    """
    floor = floor_mb(room.total_mb)
    largest = max(hosts, key=lambda host: (_beyond_mb(host), host.pid), default=None)
    if room.free_mb >= floor or largest is None or _beyond_mb(largest) <= 0:
        return None
    fellows = [host.mb for host in hosts if host.nodeset == largest.nodeset and host.pid != largest.pid]
    usual = largest.said_mb or (median(fellows) if fellows else _ASSUMED_MB)
    ours = sum(host.mb for host in hosts) > (room.total_mb - room.free_mb) / 2
    return largest if ours or largest.mb > max(2 * usual, floor) else None


def _beyond_mb(host: Weight) -> float:
    return host.mb - _SLACK * host.said_mb


class MemoryGuard:
    """Watches over the hosts that this process has started. ``room``, ``hosts``: how the machine is read."""

    def __init__(
        self,
        room: Callable[[], Room] | None = None,
        hosts: Callable[[str], list[Weight]] = weigh,
    ) -> None:
        self._room = room or MainMemory().read
        self._hosts = hosts
        self._reader = ThreadPoolExecutor(1, "memory guard")  # of its own: others may wait for a disk
        self._before: set[int] = set()
        self._settled_at = 0.0

    async def watch(self) -> None:
        """Until it is cancelled."""
        while True:
            pause = _LATEST_SEC
            try:
                pause = await self.look()
            except Exception:
                log.exception("main memory could not be looked at")
            await asyncio.sleep(pause)

    async def look(self) -> float:
        """Once; seconds until the next time. Processes are read only where memory is about to be short."""
        loop = asyncio.get_running_loop()
        room = await loop.run_in_executor(self._reader, self._room)
        short = room.free_mb < floor_mb(room.total_mb)
        near = room.free_mb < 2 * floor_mb(room.total_mb)
        hosts = await loop.run_in_executor(self._reader, self._hosts, room.cgroup) if near else []
        weights = {host.pid: host for host in hosts}
        if near and self._before - weights.keys():
            self._settled_at = time.monotonic() + _SETTLE_SEC
        self._before = set(weights)
        mine = {host.pid: host for host in HostProcess.running()}
        for pid in mine.keys() & weights.keys() if short else ():
            mine[pid].last_seen = LastSeen(weights[pid].mb, room, time.monotonic())
        if time.monotonic() >= self._settled_at:
            self._end(room, to_end(room, hosts), mine)
        return pause_sec(room)

    def _end(self, room: Room, found: Weight | None, mine: Mapping[int, HostProcess]) -> None:
        host = mine.get(found.pid) if found is not None else None
        if host is None or found is None:
            return
        self._settled_at = time.monotonic() + _SETTLE_SEC
        self._before.discard(found.pid)
        whose = "its cgroup's" if room.cgroup else "the machine's"
        why = (
            f"it held {found.mb / 1024:.1f} GB, and {room.free_mb / 1024:.1f} of {whose}"
            f" {room.total_mb / 1024:.1f} GB were free"
        )
        log.warning("%s (pid %d) is ended: %s", found.nodeset, found.pid, why)
        host.end_for_memory(f"{why}; {REMEDY}")
