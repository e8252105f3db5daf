"""Ending a run once the interval of a metric is narrow, at the same episode whatever the worker count."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from engine.evaluation.recorder import Recorder
from engine.statistics.stopping import UntilWidth, WidthWatch
from engine.store.records import EarlyStop, EpisodeRow


class EarlyStopper:
    """Watches the beginning of the list. ``end`` is called once, when all that counts has ended.

    What workers have played beyond that point stays on disk, marked, and is in no number and no digest.
    ``beyond``: positions that an earlier attempt has marked so.
    """

    def __init__(
        self,
        rule: UntilWidth,
        recorder: Recorder,
        end: Callable[[], None],
        beyond: Collection[int] = (),
    ) -> None:
        self._watch = WidthWatch(rule)
        self._recorder = recorder
        self._end = end
        self._beyond = set(beyond)
        self._played: dict[int, tuple[EpisodeRow, Path]] = {}

    def stands(self, position: int, row: EpisodeRow, folder: Path) -> None:
        """The episode has a row, which another is to replace."""
        self._played[position] = row, folder

    def ended(self, position: int, row: EpisodeRow, folder: Path) -> None:
        """The episode at this place of the list has its final row."""
        self._played[position] = row, folder
        if self._watch.kept is not None or row.status == "cancelled":  # the watch goes past no cancelled one
            return
        if self._watch.ended(position, row) is not None:
            self._end()

    async def settle(self) -> None:
        """Set aside what lies beyond, once no worker plays any more. Raises OSError."""
        summary, kept = self._recorder.summary, self._watch.kept
        if kept is None or kept == summary.total_episodes:
            return
        played = [position for position in sorted(self._played) if position >= kept]
        for position in played:
            await self._recorder.set_aside(*self._played[position])
        beyond = {*played, *(position for position in self._beyond if position >= kept)}
        summary.early_stop = EarlyStop(planned=summary.total_episodes, beyond=len(beyond))
        summary.total_episodes = kept
