"""What admission knows of the machine: one sample, each part with the time at which it was read.

Times are seconds of ``CLOCK_BOOTTIME``: the same for every process of a boot, and no step of the wall clock
moves them. Memory is MB of 2**20 bytes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

RAM = "ram"
"""The pool of main memory; every other pool is a card, by its UUID."""


def boottime() -> float:
    """Seconds since boot, suspended time included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class GpuProcess(msgspec.Struct, frozen=True):
    """A process on a card, compute or graphics. used_mb: None where the driver does not say."""

    pid: int
    used_mb: float | None


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """A card, or a MIG instance of one. label: as people call it, ``0`` or ``0:1``.

    total_mb: what programs can have, the driver's own reserve left out. unified: its memory is main memory,
    which alone is counted then. processes_known: whether the driver lists who uses it. utilization: %, over
    the driver's last second; this, power_w and temperature_c are None where the driver does not say.
    """

    uuid: str
    label: str
    name: str
    total_mb: float
    used_mb: float
    sampled_at: float
    processes: tuple[GpuProcess, ...] = ()
    processes_known: bool = True
    unified: bool = False
    utilization: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None


class Memory(msgspec.Struct, frozen=True):
    """Main memory, as far as this process's cgroups let it be used."""

    total_mb: float
    available_mb: float
    sampled_at: float


class Process(msgspec.Struct, frozen=True):
    """A process of the host. pss_mb: its share of memory; None where it was not read or may not be."""

    pid: int
    parent: int
    name: str
    rss_mb: float
    pss_mb: float | None = None


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The machine at one moment.

    gpus: the last row of every card ever seen, so that one that went missing shows by its age. driver:
    ``absent`` where the machine has no NVIDIA driver, ``failing`` where it has one that does not answer.
    disk_free_mb: where the runs are written; 0 where no file can be made any more. cpu_percent: of all cores,
    since the sample before. problems: what could not be read, in words.
    """

    gpus: tuple[Gpu, ...] = ()
    driver: Literal["present", "absent", "failing"] = "present"
    memory: Memory | None = None
    processes: Mapping[int, Process] = {}
    disk_free_mb: float | None = None
    cpu_percent: float | None = None
    problems: tuple[str, ...] = ()


class Root(msgspec.Struct, frozen=True, kw_only=True):
    """The process at the top of something of ours, and what it is. gpus: the cards given to it."""

    owner: str
    pid: int
    name: str
    workers: int
    started_at: float
    gpus: tuple[str, ...] = ()


class Machine(Protocol):
    """The real machine, or a simulated one."""

    def sample(self, roots: Sequence[Root]) -> Sample:
        """Read it now. The memory of the processes below ``roots`` is read with more care than others'."""
