"""The machine that this process runs on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import psutil

from engine.hosting.main_memory import MainMemory
from engine.scheduling.machine import Memory, Root, Sample, boottime
from engine.scheduling.samplers.nvml import NvmlSampler
from engine.scheduling.samplers.processes import ProcessSampler

_MB = 1 << 20
_FEWEST_INODES = 100
"""With fewer names left a disk counts as full: a run makes dozens of files."""


class LocalMachine:
    """Cards, main memory, processes, and the disk that holds ``outputs``."""

    def __init__(self, outputs: Path) -> None:
        self._outputs = outputs
        self._nvml = NvmlSampler()
        self._memory = MainMemory()
        self._processes = ProcessSampler()

    def sample(self, roots: Sequence[Root]) -> Sample:
        """Read it now. Takes milliseconds; a driver that hangs holds it up for as long."""
        driver, gpus, problems = self._nvml.read()
        room = self._memory.read()
        return Sample(
            gpus=gpus,
            driver=driver,
            memory=Memory(room.total_mb, room.free_mb, boottime()),
            processes=self._processes.read({root.pid for root in roots}),
            disk_free_mb=disk_free_mb(self._outputs),
            cpu_percent=psutil.cpu_percent(),
            problems=problems,
        )


def disk_free_mb(folder: Path) -> float:
    """What may still be written there; 0 where no further file can be made, or the folder is gone."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return 0.0
    out_of_names = disk.f_files > 0 and disk.f_favail < _FEWEST_INODES
    return 0.0 if out_of_names else disk.f_bavail * disk.f_frsize / _MB
