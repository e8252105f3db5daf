"""One worker: its own environment processes, and its share of the episodes, one after the other."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.evaluation.early_stop import EarlyStopper
from engine.evaluation.episode import Episode, Setting
from engine.evaluation.plan import PlannedEpisode
from engine.evaluation.recorder import Recorder
from engine.evaluation.slots import HostSlot
from engine.store.records import EpisodeRow, WorkerProgress

log = logging.getLogger(__name__)


class Worker:
    """Plays ``episodes`` in order. ``own``: its replicated nodesets; ``shared``: the run's. ``stopper`` is
    told of each."""

    def __init__(
        self,
        setting: Setting,
        progress: WorkerProgress,
        episodes: Sequence[tuple[PlannedEpisode, Path]],
        own: Mapping[str, HostSlot],
        shared: Mapping[str, HostSlot],
        recorder: Recorder,
        stopper: EarlyStopper | None,
    ) -> None:
        self._setting = setting
        self._progress = progress
        self._episodes = episodes
        self._own = own
        self._shared = shared
        self._recorder = recorder
        self._stopper = stopper
        self._cancelled = False
        self._episode: Episode | None = None

    async def run(self) -> None:
        """Every row is on disk when this returns. Raises OSError where one cannot be written."""
        for planned, folder in self._episodes:
            await self._recycle_before(planned)
            if self._cancelled:
                break
            row = await self._played(planned, folder)
            await self._recorder.record(row, folder)
            self._count(row)
            if self._stopper is not None:
                self._stopper.ended(planned.position, row, folder)
            await self._recycle_when_large()
        self._progress.state = "done"
        self._recorder.show()
        await asyncio.gather(*(slot.recycle() for slot in self._own.values()))

    def cancel(self) -> None:
        """End the episode that is being played, and begin no other."""
        self._cancelled = True
        if self._episode is not None:
            self._episode.cancel()

    async def _played(self, planned: PlannedEpisode, folder: Path) -> EpisodeRow:
        tries = 1 + self._setting.request.retries
        while True:
            self._begin(planned)
            _empty(folder)
            slots = {**self._shared, **self._own}
            self._episode = Episode(
                self._setting, planned, folder, slots, self._progress, self._recorder.show
            )
            row = await self._episode.play()
            tries -= 1
            if row.error_class != "infra" or tries == 0 or self._cancelled:
                return row
            log.warning("episode %d is played again: %s", planned.index, row.error)

    async def _recycle_before(self, planned: PlannedEpisode) -> None:
        for slot in self._own.values():
            after = slot.manifest.recycle_after
            if after is not None and planned.position % after == 0:
                await slot.recycle()

    async def _recycle_when_large(self) -> None:
        for name, slot in self._own.items():
            limit = slot.manifest.recycle_above_mb
            if limit is not None and (used := await slot.memory_mb()) > limit:
                log.info("%s is restarted: %.0f MB, more than its recycle_above_mb of %d", name, used, limit)
                await slot.recycle()

    def _begin(self, planned: PlannedEpisode) -> None:
        self._progress.state = "starting"
        self._progress.episode_index = planned.index
        self._progress.task = str(planned.selectors.get("task_id", ""))
        self._progress.step = 0
        self._progress.budget = None

    def _count(self, row: EpisodeRow) -> None:
        self._progress.episodes_done += 1
        self._progress.steps_done += row.step_count


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
