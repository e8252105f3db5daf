"""What is done for an episode behind its run: a bounded stream, used for judges and for exports alike."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

Place = Literal["waiting", "running", "finished", "failed", "unlaunched"]
"""Where an item is. unlaunched: the stream was closed before its turn."""


@dataclass(frozen=True, slots=True)
class StreamStats:
    """Items, by where they are; ``pushed`` is all of them."""

    pushed: int = 0
    waiting: int = 0
    running: int = 0
    finished: int = 0
    failed: int = 0
    unlaunched: int = 0


class Handle:
    """One item on its way. ``error``: what the work on it raised."""

    def __init__(self) -> None:
        self.place: Place = "waiting"
        self.error: Exception | None = None
        self._over = asyncio.Event()

    def end(self) -> None:
        """Nothing more happens to the item: for the stream to say."""
        self._over.set()

    async def done(self) -> Place:
        """Wait until nothing more happens to the item, and say where it is. Raises nothing of the work's."""
        await self._over.wait()
        return self.place


class BoundedStream(Generic[T]):
    """Works on what is pushed, at most ``limit`` items at once, first come first served.

    ``work``: what is done with one; what it raises fails this item only, and is raised by :meth:`settle`.
    Belongs to one event loop.
    """

    def __init__(self, limit: int, work: Callable[[T], Awaitable[object]]) -> None:
        if limit < 1:
            raise ValueError(f"a stream works on one item at once at least, not on {limit}")
        self._work = work
        self._places = asyncio.Semaphore(limit)
        self._counts: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._first_error: Exception | None = None
        self._closed = False

    @property
    def stats(self) -> StreamStats:
        return StreamStats(pushed=self._counts.total(), **self._counts)

    def push(self, item: T, after: Handle | None = None) -> Handle:
        """Work on an item as soon as there is a place, and, of another stream's item, once that is over.

        Raises nothing of the work's, now or later; after :meth:`close` the item is left alone.
        """
        handle = Handle()
        self._counts[handle.place] += 1
        task = asyncio.create_task(self._see_through(item, handle, after))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda ended: handle.end())
        return handle

    def close(self) -> None:
        """Launch nothing more: what waits is left alone, what runs comes to its end."""
        self._closed = True

    async def join(self) -> None:
        """Wait for all that was pushed, also meanwhile. Raises nothing of the work's."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def settle(self) -> None:
        """Wait for all, and then raise what was raised first, where something was."""
        await self.join()
        if self._first_error is not None:
            raise self._first_error

    async def _see_through(self, item: T, handle: Handle, after: Handle | None) -> None:
        try:
            if after is not None:
                await after.done()
            async with self._places:
                if self._closed:
                    self._move(handle, "unlaunched")
                    return
                self._move(handle, "running")
                await self._work(item)
            self._move(handle, "finished")
        except asyncio.CancelledError:
            self._fail(handle, RuntimeError("the work on an item was cancelled"))
            raise
        except Exception as error:
            self._fail(handle, error)

    def _fail(self, handle: Handle, error: Exception) -> None:
        handle.error = error
        self._first_error = self._first_error or error
        self._move(handle, "failed")
        log.error("the work on an item failed", exc_info=error)

    def _move(self, handle: Handle, place: Place) -> None:
        self._counts[handle.place] -= 1
        handle.place = place
        self._counts[place] += 1
