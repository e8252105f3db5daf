"""The one place from which every screen gets what there is to see."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from engine.control.protocol import Control
from tui.clock import Clock, SystemClock
from tui.looking import Looker
from tui.models import Snapshot

INTERVAL_SEC, SLOW_INTERVAL_SEC = 0.25, 1.0
"""Between two paintings that nobody asked for."""

POLL_SEC = 1.0


class Store:
    """Looks at ``control`` in a thread, and tells ``on_change`` on the loop when what there is has changed.

    At most once in INTERVAL_SEC (SLOW_INTERVAL_SEC where ``slow``), but at once after :meth:`select` and
    :meth:`refetch`. All methods belong to the loop.
    """

    def __init__(
        self, control: Control, on_change: Callable[[Snapshot], None], clock: Clock | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self._looker = Looker(control, self._clock)
        self._on_change = on_change
        self._wanted = asyncio.Event()
        self._urgent = self._everything = True
        self._task: asyncio.Task[None] | None = None
        self.snapshot = Snapshot(now=self._clock.now())
        self.slow = False

    @property
    def selected(self) -> str | None:
        """The run that is told in detail."""
        return self._looker.selected

    @property
    def live_folders(self) -> frozenset[Path]:
        """Of the runs that go on, to be watched."""
        return self._looker.live_folders

    def start(self) -> None:
        """Look from now on, until :meth:`close`."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Look no more. A thread that looks now is not waited for."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def select(self, run_id: str | None) -> None:
        """Tell this run in detail from now on."""
        if run_id != self._looker.selected:
            self._looker.selected = run_id
            self._urgent = True
            self._wanted.set()

    def watch_servers(self, watched: bool) -> None:
        """Whether anybody shows the shared servers; otherwise they are not asked for."""
        self._looker.watch_servers = watched
        self.poke()

    def refetch(self) -> None:
        """Read everything again, now."""
        self._urgent = self._everything = True
        self._wanted.set()

    def poke(self) -> None:
        """Something may have changed: look soon."""
        self._wanted.set()

    async def look(self) -> Snapshot:
        """Look once, now. What the loop of :meth:`start` does again and again."""
        urgent, everything = self._urgent, self._everything
        self._urgent = self._everything = False
        self._wanted.clear()
        stages = self._looker.look(everything=everything)
        found = self.snapshot
        while (seen := await asyncio.to_thread(next, stages, None)) is not None:
            found = seen
            if urgent:
                self._tell(found)
        self._tell(found)
        return self.snapshot

    def _tell(self, seen: Snapshot) -> None:
        if self.snapshot.seq and seen.same_as(self.snapshot):
            return
        self.snapshot = replace(seen, seq=self.snapshot.seq + 1)
        self._on_change(self.snapshot)

    async def _run(self) -> None:
        while True:
            began = self._clock.monotonic()
            await self.look()
            await self._rest(began)

    async def _rest(self, began: float) -> None:
        """Until POLL_SEC have passed, or something is wanted: then the interval is kept, unless urgent."""
        earliest = began + (SLOW_INTERVAL_SEC if self.slow else INTERVAL_SEC)
        latest = self._clock.monotonic() + POLL_SEC
        asked = self._wanted.is_set()
        while not self._urgent:
            left = (earliest if asked else latest) - self._clock.monotonic()
            if left <= 0:
                return
            self._wanted.clear()
            asked |= await self._sleep_until_wanted(left)

    async def _sleep_until_wanted(self, seconds: float) -> bool:
        sleeping = asyncio.ensure_future(self._clock.sleep(seconds))
        wanted = asyncio.ensure_future(self._wanted.wait())
        try:
            await asyncio.wait([sleeping, wanted], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            wanted.cancel()
        return self._wanted.is_set()
