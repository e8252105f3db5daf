"""The time, as everything on the screen asks for it: tests have a clock of their own."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """monotonic: seconds that only grow. now: the local time with its offset."""

    def monotonic(self) -> float: ...

    def now(self) -> datetime: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now().astimezone()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
