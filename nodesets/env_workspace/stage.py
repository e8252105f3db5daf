"""The one episode of this process: the panel sets it up, tools and graders work in it, one at a time."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Callable, TypeVar

from .cases import Case
from .leftovers import adopt_orphans
from .shelter import Shelter
from .workspace import Workspace

T = TypeVar("T")


class Stage:
    """``chosen``: what the operator selected. Whatever touches the folder goes through :meth:`work`."""

    def __init__(self) -> None:
        self.chosen: dict[str, Any] = {}
        self.adopting = False
        self._shelter: Shelter | None = None
        self._workspace: Workspace | None = None
        self._hands = ThreadPoolExecutor(1, thread_name_prefix="workspace")

    def adopt_orphans(self) -> None:
        """In a process whose every descendant is a command of ours."""
        self.adopting = adopt_orphans()

    @property
    def workspace(self) -> Workspace:
        """Raises RuntimeError while there is none."""
        if self._workspace is None:
            raise RuntimeError("no episode has begun: select cases and press play")
        return self._workspace

    @property
    def case(self) -> Case | None:
        return None if self._workspace is None else self._workspace.case

    async def begin(self, case: Case) -> None:
        """Lay out a folder for it, in place of the last one. Raises ValueError."""
        self._workspace = None
        self._workspace = await self.work(lambda: Workspace(case, self._home(), self.adopting))

    async def end(self, workspace: Workspace) -> None:
        """Remove that folder, unless the next episode has begun already."""
        if self._workspace is workspace:
            self._workspace = None
            await self.work(workspace.close)

    async def work(self, do: Callable[..., T], *given: Any) -> T:
        """Have it done, off the event loop, after whatever was asked for before."""
        return await asyncio.get_event_loop().run_in_executor(self._hands, partial(do, *given))

    async def close(self) -> None:
        if self._shelter is not None:
            await self.work(self._shelter.close)
        self._hands.shutdown()

    def _home(self) -> Any:
        if self._shelter is None:
            self._shelter = Shelter()
        return self._shelter.path / "episode"
