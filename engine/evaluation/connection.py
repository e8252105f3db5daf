"""A worker's line to a nodeset's host, for one episode."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from engine.components.errors import HostUnreached
from engine.components.firing import FiringRequest, FiringResult
from engine.evaluation.slots import HostSlot
from engine.hosting.remote import RemoteHandler

T = TypeVar("T")

MOST_MOVES = 5
"""For one question: a server that ends that often before it is asked is not worth waiting for."""


class Connection:
    """To the host in ``slot``, started where there is none.

    A shared host may end over another episode's call. What it was not sent goes to the one that replaces it,
    unless nodes of this episode were fired there that may have kept something: a batched tool keeps nothing.
    """

    def __init__(self, slot: HostSlot, caller: str) -> None:
        self.slot = slot
        self._caller = caller
        self._kept_there = False

    async def open(self) -> None:
        """Raises HostStartFailed."""
        self.host = await self.slot.ensure()
        self.client = self.host.connect(self._caller)

    async def set_live(self, live: bool) -> None:
        """Tell a shared model whether its batches may wait for this worker."""
        await self.ask(lambda: self.client.set_live(live))

    async def evict(self, execution_id: str) -> None:
        """Nothing of an earlier try is there."""
        await self.ask(lambda: self.client.evict(execution_id))

    async def fire(self, request: FiringRequest, deadline: float) -> FiringResult:
        """Fire one of its nodes, within so many seconds."""
        try:
            return await self.ask(lambda: RemoteHandler(self.client, lambda _: deadline).fire(request))
        finally:
            tool = self.slot.manifest.tools.get(request.node_type)
            self._kept_there |= tool is None or not tool.batched

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T:
        """What ``question`` gives, put to ``client``. Raises what that raises."""
        for _ in range(MOST_MOVES):
            try:
                return await question()
            except HostUnreached as failure:
                if self._kept_there or self.slot.manifest.parallelism == "replicated":
                    raise
                await self.slot.discard(self.host, failure)
                await self.client.close()
                await self.open()
        return await question()


@dataclass(frozen=True)
class Hosted:
    """Fires a node over ``connection``. :class:`engine.components.firing.NodeHandler`."""

    connection: Connection
    deadline_sec: float

    async def fire(self, request: FiringRequest) -> FiringResult:
        """See :meth:`engine.hosting.remote.RemoteHandler.fire`."""
        return await self.connection.fire(request, self.deadline_sec)
