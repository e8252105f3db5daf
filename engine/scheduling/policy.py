"""The numbers that admission goes by."""

from __future__ import annotations

import msgspec

from engine.store.settings import Admission


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """fair_wait_sec: a job that waited this long is not passed over any more. stale_after_sec: an older
    sample is none. cold_longest_sec: others wait this long for a run of which nothing was known, settled or
    not. usable_vram_mb: the most of one card that may be used, None is all of it; where there is no NVIDIA
    driver, the video memory that declarations are counted against, and None counts none. disk_low_mb: nothing
    starts with less free.
    """

    fair_wait_sec: float = 600.0
    stale_after_sec: float = 5.0
    cold_longest_sec: float = 600.0
    usable_vram_mb: float | None = None
    disk_low_mb: float = 2048.0

    @classmethod
    def of(cls, settings: Admission) -> Policy:
        """The policy that ``evaltower.toml`` sets."""
        return cls(
            fair_wait_sec=settings.fair_wait,
            usable_vram_mb=settings.usable_vram_mb,
            disk_low_mb=settings.disk_low,
        )


def ram_floor_mb(total_mb: float) -> float:
    """Main memory that is never given away: 10 %, at most 4 GB."""
    return min(4096.0, 0.1 * total_mb)
