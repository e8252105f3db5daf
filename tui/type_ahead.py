"""Keys that come faster than what they open: each is carried out in the order it was typed, and only when
what those before it opened is there to take it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from textual import events

PATIENCE_SEC = 2.0
"""So long keys wait for what opens; then they are for what there is."""


class TypeAhead:
    """take: carries a key out. go_on_soon: calls a function from where :meth:`typed` is called, soon; so keys
    are taken one at a time."""

    def __init__(
        self,
        take: Callable[[events.Key], Awaitable[None]],
        go_on_soon: Callable[[Callable[[], Awaitable[None]]], object],
    ) -> None:
        self._take = take
        self._go_on_soon = go_on_soon
        self._keys: deque[events.Key] = deque()
        self._opening: dict[asyncio.Task[Any], asyncio.TimerHandle] = {}

    async def typed(self, event: events.Key) -> None:
        """At once, unless something opens."""
        self._keys.append(event)
        await self._go_on()

    def hold(self, task: asyncio.Task[Any] | None) -> None:
        """Keys wait until this one has opened something, has ended, or takes too long."""
        if task is not None and task not in self._opening and not task.done():
            self._opening[task] = task.get_loop().call_later(PATIENCE_SEC, self.release, task)
            task.add_done_callback(self.release)

    def release(self, task: asyncio.Task[Any] | None) -> None:
        """What it opens is there, or nothing will come of it."""
        if task in self._opening:
            self._opening.pop(task).cancel()
            if self._keys:
                self._go_on_soon(self._go_on)

    async def _go_on(self) -> None:
        while self._keys and not self._opening:
            await self._take(self._keys.popleft())
