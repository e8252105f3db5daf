"""Why a job waits: a code for programs, and a sentence with numbers for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

Code = Literal[
    "queue_paused",
    "held",
    "backoff",
    "dependency",
    "dependency_failed",
    "interactive",
    "disk_low",
    "ledger_busy",
    "sampler_stale",
    "cold_start_wait",
    "exclusive_wait",
    "exclusive_held",
    "gpu_unmanaged_process",
    "gpu_memory",
    "ram",
    "fair_wait",
    "server_ending",
    "server_loading",
    "cluster_queue",
    "cluster_silent",
    "infeasible",
]


class Reason(msgspec.Struct, frozen=True):
    """As a text: ``code: sentence``."""

    code: Code
    text: str

    def __str__(self) -> str:
        return f"{self.code}: {self.text}"


NOT_LOOKED_AT = "the scheduler has not looked at it yet"
OTHERS = "other backends"
"""What is told of a job before the first tick, and of whoever else has a claim on this machine."""


def sentence(written: str) -> str:
    """A reason's sentence, of its text; anything else as it is."""
    code, colon, told = written.partition(": ")
    return told if colon and code in get_args(Code) else written


def gb(mb: float) -> str:
    """Memory for a sentence: GB of 2**30 bytes with one decimal, without the unit."""
    return f"{mb / 1024:.1f}"


def duration(seconds: float) -> str:
    """A time for a sentence, in the one unit that suits it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def listed(names: Iterable[str], most: int = 3) -> str:
    """Names in a sentence: all of them, or the first ``most`` and how many more."""
    every = list(names)
    if len(every) > most:
        return f"{', '.join(every[:most])} and {len(every) - most} more"
    return " and ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)
