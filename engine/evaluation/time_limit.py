"""The wall seconds that a run may take, without those that it waited to be told what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LOOK_SEC = 0.5
"""So often a run that waits is looked at again."""


class TimeLimit:
    """Calls ``reached`` once, ``seconds`` after it was made, and later by what ``waited`` says."""

    def __init__(
        self, seconds: float, reached: Callable[[], None], waited: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._ends = self._loop.time() + seconds
        self._reached = reached
        self._waited = waited
        self._timer = self._loop.call_at(self._ends, self._look)

    def cancel(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        ends, now = self._ends + self._waited(), self._loop.time()
        if now >= ends:
            self._reached()
        else:
            self._timer = self._loop.call_at(max(ends, now + LOOK_SEC), self._look)
