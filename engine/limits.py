"""Between which a number lies, whoever gives it; those of a start request by their fields."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import NamedTuple


class Limit(NamedTuple):
    """A number from ``low`` to ``high``, never infinite and never NaN. above: ``low`` itself is none; whole:
    it has no fraction."""

    low: float
    high: float = inf
    above: bool = False
    whole: bool = True

    def takes(self, value: float) -> bool:
        fits = self.low < value if self.above else self.low <= value
        return fits and value <= self.high and value != inf

    @property
    def described(self) -> str:
        """``a whole number from 1 to 4096``; ``a finite number above 0``."""
        kind = "a whole number" if self.whole else "a finite number"
        if self.above:
            low = f" above {_figure(self.low)}"
        else:
            low = f" from {_figure(self.low)}" if self.high < inf else f" of at least {_figure(self.low)}"
        return kind + low + (f" to {_figure(self.high)}" if self.high < inf else "")


FPS = Limit(0.1, 240.0, whole=False)
"""Of a video, in frames a second."""
MOST_EPISODES = 10**7
LIMITS: Mapping[str, Limit] = {
    "worker_count": Limit(1, 4096),
    "nodes": Limit(1, 1024),
    "episode_count": Limit(1, MOST_EPISODES),
    "start_episode_index": Limit(0, MOST_EPISODES),
    "retries": Limit(0, 1000),
    "repeats": Limit(1, 10_000),
    "step_budget": Limit(1, 10**9),
    "seed": Limit(-(2**63), 2**63 - 1),
    "per_step_budget_sec": Limit(0, above=True, whole=False),
    "timeout_sec": Limit(0, above=True, whole=False),
    "until_width": Limit(0, above=True, whole=False),
    "marginal_vram_mb": Limit(0, 10**7, whole=False),
}
"""Beyond these a number is a slip, and would only be found out by what it costs."""


def _figure(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"
