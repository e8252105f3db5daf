"""The run's process on a machine that is nearly full: of ``SMALL_MB``, the hosts of its root take what they
weigh. Other hosts of the real machine are not seen.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import psutil

from engine.evaluation import hosts
from engine.evaluation.__main__ import main
from engine.hosting.main_memory import Room
from engine.hosting.memory_guard import MemoryGuard
from engine.hosting.weighing import Weight, weigh


def hosts_below(root: Path, cgroup: str = "") -> list[Weight]:
    """Those whose nodeset lies there."""

    def is_of_it(pid: int) -> bool:
        try:
            return any(word.startswith(f"{root}/") for word in psutil.Process(pid).cmdline())
        except psutil.Error:
            return False

    return [host for host in weigh(cgroup) if is_of_it(host.pid)]


def room_of(total_mb: float, root: Path) -> Room:
    return Room(total_mb, max(0.0, total_mb - sum(host.mb for host in hosts_below(root))))


if __name__ == "__main__":
    here = Path.cwd()  # the root
    total = float(os.environ["SMALL_MB"])
    hosts.MemoryGuard = partial(MemoryGuard, partial(room_of, total, here), partial(hosts_below, here))  # type: ignore[misc,assignment]
    sys.exit(main())
