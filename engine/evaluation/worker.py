"""One worker: its own environment processes, and its share of the episodes, one after the other."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.evaluation.episode import Episode, Setting
from engine.evaluation.group import Group, Past
from engine.evaluation.plan import PlannedEpisode
from engine.evaluation.recorder import Recorder
from engine.evaluation.scoring import RunScoring
from engine.evaluation.slots import HostSlot
from engine.store.records import EpisodeRow, WorkerProgress, now_iso

log = logging.getLogger(__name__)


class Worker:
    """Plays ``episodes`` in order, but those that are ``finished``, by their position, already.

    ``own``: its replicated nodesets; ``shared``: the run's. ``group``: what these may remember; what must be
    played again for that leaves its files in ``scratch``. ``scoring`` gets each.
    """

    def __init__(
        self,
        setting: Setting,
        progress: WorkerProgress,
        episodes: Sequence[tuple[PlannedEpisode, Path]],
        finished: Mapping[int, EpisodeRow],
        own: Mapping[str, HostSlot],
        shared: Mapping[str, HostSlot],
        group: Group,
        scratch: Path,
        recorder: Recorder,
        scoring: RunScoring,
    ) -> None:
        self._setting = setting
        self._progress = progress
        self._episodes = episodes
        self._finished = finished
        self._own = own
        self._shared = shared
        self._group = group
        self._scratch = scratch
        self._recorder = recorder
        self._scoring = scoring
        self._cancelled = False
        self._episode: Episode | None = None

    async def run(self) -> None:
        """Every row is on disk when this returns. Raises OSError and FencedError where one cannot be."""
        for planned, folder in self._episodes:
            self._group.enter(planned)
            row = self._finished.get(planned.position)
            if row is None:
                row = await self._played(planned, folder)
                if row is None:
                    break
                await self._recorder.record(row, folder)
                self.count(row)
                self._scoring.push(planned.position, row, folder)
                await self._recycle_when_large()
            self._group.note(planned, row, folder.name)
        self._progress.state = "done"
        self._recorder.show()
        for slot in self._own.values():
            await slot.recycle()

    def cancel(self) -> None:
        """End the episode that is being played, and begin no other."""
        self._cancelled = True
        if self._episode is not None:
            self._episode.cancel()

    def count(self, row: EpisodeRow) -> None:
        """An episode of its share has its row."""
        self._progress.episodes_done += 1
        self._progress.steps_done += row.step_count

    async def _played(self, planned: PlannedEpisode, folder: Path) -> EpisodeRow | None:
        """Its row; None where the worker was cancelled before it began."""
        tries = 1 + self._setting.request.retries
        while not self._cancelled:
            failed = await self._relive(await self._group.ready(planned))
            if self._cancelled:
                break
            row = (
                self._unplayed(planned, failed) if failed else await self._once(planned, folder, scored=True)
            )
            tries -= 1
            if row.error_class != "infra" or tries == 0 or self._cancelled or self._outgrew():
                return row
            log.warning("episode %d is played again: %s", planned.index, row.error)
        return None

    def _outgrew(self) -> bool:
        """What took more memory than there was takes it again, if it is played again."""
        return self._episode is not None and self._episode.outgrew

    async def _once(self, planned: PlannedEpisode, folder: Path, *, scored: bool = False) -> EpisodeRow:
        self._begin(planned)
        self._setting.guard()
        _empty(folder)
        slots = {**self._shared, **self._own}
        episode = Episode(self._setting, planned, folder, slots, self._progress, self._recorder.show)
        self._episode = episode
        row = await episode.play(self._scoring.hold(folder) if scored else None)
        if episode.refused is not None:
            self._recorder.refused(episode.refused)
        return row

    async def _relive(self, past: Sequence[Past]) -> EpisodeRow | None:
        """Have fresh processes play what they may remember; the row that failed, if one did."""
        if past:
            indices = ", ".join(str(p.planned.index) for p in past)
            log.info("episodes %s are played again, as the next ones may depend on them", indices)
        for planned, before, name in past:
            if self._cancelled:
                break
            await self._group.begin(planned)
            row = await self._once(planned, self._scratch / name)
            if row.status == "cancelled" or row.error_class == "infra":
                return row
            if row.trajectory_digest == before.trajectory_digest:
                shutil.rmtree(self._scratch / name)
            else:
                told = (
                    "episode %d went another way than before (%s against %s): its environment does not repeat"
                )
                log.warning(told, planned.index, self._scratch / name, name)
        return None

    def _unplayed(self, planned: PlannedEpisode, failed: EpisodeRow) -> EpisodeRow:
        now = now_iso()
        return EpisodeRow(
            episode_index=planned.index,
            status="error",
            termination="exception",
            error=f"episode {failed.episode_index}, which comes before it in the same process, could not be"
            f" played again: {failed.error}",
            error_class="infra",
            failure=failed.failure,
            selectors=dict(planned.selectors),
            repeat=planned.repeat,
            worker_id=self._progress.worker_id,
            started_at=now,
            finished_at=now,
            seed=planned.seed,
        )

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


def _empty(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
