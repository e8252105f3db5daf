"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2026, 5, 18, 14, 30, tzinfo=UTC)


class FakeClock:
    """:class:`tui.clock.Clock`, moved by :meth:`advance`. Whoever sleeps wakes only by that."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self.elapsed = 1000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def monotonic(self) -> float:
        return self.elapsed

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.elapsed - 1000.0)

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.elapsed + seconds, woken))
        await woken

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake who has slept long enough."""
        self.elapsed += seconds
        due = [sleeper for sleeper in self._sleepers if sleeper[0] <= self.elapsed]
        self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[0] > self.elapsed]
        for _, woken in due:
            if not woken.done():
                woken.set_result(None)
