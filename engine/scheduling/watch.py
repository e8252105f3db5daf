"""What a tenant was seen to hold: its peaks, whether it still grows, and what that teaches about the next
one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from engine.scheduling.calibration import Peak
from engine.scheduling.machine import RAM

SETTLE_SEC, COLD_SETTLE_SEC = 30.0, 60.0
"""Without growth for this long while it works, a tenant has settled; longer where nothing was known of it."""

FEWEST_SAMPLES, SHORTEST_SEC = 5, 10.0
"""What was seen less often, or ran shorter, teaches nothing."""

_GROWTH_SHARE, _GROWTH_MB = 0.02, 64.0
"""A rise by less than both is no growth."""


@dataclass
class Watch:
    """One tenant, since ``started_at``. from_start: whether it was seen from then on. after_sec: when past
    ones had reached their peak: until then it has not settled.
    """

    started_at: float
    from_start: bool = True
    after_sec: float = 0.0
    working_since: float | None = None
    peaks: dict[str, float] = field(default_factory=dict)
    _levels: dict[str, float] = field(default_factory=dict)
    _grew_at: dict[str, float] = field(default_factory=dict)
    _samples: dict[str, int] = field(default_factory=dict)
    _seen_at: dict[str, float] = field(default_factory=dict)

    def see(self, pool: str, mb: float, at: float, *, exact: bool = True) -> None:
        """Take in what it holds of a pool, as read at ``at``; a reading that is not new counts once.

        ``exact``: whether its processes' use was told, or may be hidden.
        """
        if at <= self._seen_at.get(pool, self.started_at):
            return
        self._seen_at[pool] = at
        self.peaks[pool] = max(mb, self.peaks.get(pool, 0.0))
        if mb > self._levels.get(pool, 0.0) * (1 + _GROWTH_SHARE) + _GROWTH_MB:
            self._levels[pool] = mb
            self._grew_at[pool] = at
        if exact:
            self._samples[pool] = self._samples.get(pool, 0) + 1

    def is_settled(self, now: float, cold: bool = False) -> bool:
        """It works, has not grown for a while, and past ones had reached their peak by this time."""
        if self.working_since is None or now - self.started_at < self.after_sec:
            return False
        flat = now - max(self.working_since, *self._grew_at.values(), self.started_at)
        return flat >= (COLD_SETTLE_SEC if cold else SETTLE_SEC)

    def peak(self, cards: Collection[str], now: float) -> Peak | None:
        """What it teaches, once it has completed; None where too little was seen of it.

        ``cards``: those that were given to it. What is not known of one of them is known of none.
        """
        if not self.from_start or now - self.started_at < SHORTEST_SEC:
            return None
        vram = None
        if cards and all(self._is_seen(card) for card in cards):
            vram = max(self.peaks.get(card, 0.0) for card in cards)
        ram = self.peaks.get(RAM) if self._is_seen(RAM) else None
        if vram is None and ram is None:
            return None
        return Peak(
            vram_mb=vram, ram_mb=ram, after_sec=max(self._grew_at.values(), default=now) - self.started_at
        )

    def so_far(self, cards: Collection[str]) -> Peak:
        """The most that it has held until now, known or not to be the most that it will hold."""
        vram = max((self.peaks.get(card, 0.0) for card in cards), default=None)
        return Peak(vram_mb=vram, ram_mb=self.peaks.get(RAM))

    def _is_seen(self, pool: str) -> bool:
        return self._samples.get(pool, 0) >= FEWEST_SAMPLES
