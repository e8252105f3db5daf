"""What an environment may remember: the episodes before this one in its group of ``recycle_after``.

A nodeset that sets ``recycle_after`` may let one episode of a group matter to the next. So an episode's
result is that of a process which has played exactly the group's earlier ones, in order; those that the box
failed are no part of it. Where the live process has not (a resume amid a group, a crash, a retry), it is
replaced and the earlier ones are played again before. Their rows stand as they are: they were told already,
and a failure of the box must not take them back. A nodeset with ``recycle_above_mb`` is restarted wherever
its memory happens to grow, and thereby says that it remembers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from engine.evaluation.plan import PlannedEpisode
from engine.evaluation.slots import HostSlot
from engine.store.records import EpisodeRow


class Past(NamedTuple):
    """An episode of the group that has its row; ``name``: of its folder."""

    planned: PlannedEpisode
    row: EpisodeRow
    name: str


class Group:
    """One worker's place in the list. ``size``: episodes after which all its processes begin afresh."""

    def __init__(self, slots: Iterable[HostSlot], size: int | None) -> None:
        self._slots = [slot for slot in slots if slot.manifest.recycle_after and not slot.borrowed_from]
        self._size = size or 1
        self._number = -1
        self._past: list[Past] = []

    def enter(self, planned: PlannedEpisode) -> None:
        """The next episode of the list."""
        number = planned.position // self._size
        if number != self._number:
            self._number, self._past = number, []

    def note(self, planned: PlannedEpisode, row: EpisodeRow, name: str) -> None:
        """The episode has its row."""
        if row.status != "cancelled" and row.error_class != "infra":
            self._past.append(Past(planned, row, name))

    async def ready(self, planned: PlannedEpisode) -> list[Past]:
        """End the processes that must not play this episode as they are; what is to be played before it."""
        for slot in self._slots:
            slot.look()
        stale = [slot for slot in self._slots if self._is_stale(slot, planned.position)]
        again = any(_remembers(slot) and self._expected(slot, planned.position) for slot in stale)
        for slot in self._slots if again else stale:
            await slot.recycle()
        return list(self._past) if again else []

    async def begin(self, planned: PlannedEpisode) -> None:
        """The same for an episode that is played again: only what begins afresh there is ended."""
        for slot in self._slots:
            if planned.position % _after(slot) == 0:
                await slot.recycle()

    def _is_stale(self, slot: HostSlot, position: int) -> bool:
        if _remembers(slot):
            return slot.played != self._expected(slot, position)
        return any(played < _start(slot, position) for played in slot.played)

    def _expected(self, slot: HostSlot, position: int) -> list[int]:
        start = _start(slot, position)
        positions = [past.planned.position for past in self._past]
        return [past for past in positions if start <= past < position]


def _after(slot: HostSlot) -> int:
    return slot.manifest.recycle_after or 1


def _start(slot: HostSlot, position: int) -> int:
    return position - position % _after(slot)


def _remembers(slot: HostSlot) -> bool:
    return slot.manifest.recycle_above_mb is None
