"""A run's episodes after their last step: judged and exported behind those that still run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from engine.scoring.after import complete
from engine.scoring.collecting import trace_reference
from engine.scoring.context import Compute
from engine.scoring.evidence import correlation_id, read_evidence
from engine.scoring.held import score_held
from engine.scoring.scored import Files, Means, is_scored
from engine.scoring.streams import BoundedStream, Handle
from engine.store.records import EpisodeRow, EpisodeWaits, Identity, now_iso

Final = Callable[[int, EpisodeRow, Path], None]
"""Called with an episode's place in the list, its final row and its folder."""


class _Episode:
    """One episode on its way; ``row`` is replaced as it goes."""

    def __init__(self, position: int, row: EpisodeRow, folder: Path) -> None:
        self.position = position
        self.row = row
        self.folder = folder
        self.completed: Handle | None = None


class Pipeline:
    """Use it once, on one event loop.

    ``changed``: called when :attr:`waiting` is another. ``final``: called when an episode's row is final.
    ``in_backend``: this is where traces are fetched that a run leaves to be fetched after it.
    """

    def __init__(
        self,
        means: Means,
        files: Files,
        changed: Callable[[], None],
        final: Final = lambda position, row, folder: None,
        *,
        in_backend: bool = False,
    ) -> None:
        self._means = means
        self._files = files
        self._changed = changed
        self._final = final
        self._left_to_backend = means.waits_for_backend and not in_backend
        at_once = means.spec.concurrency
        self._completing = BoundedStream[_Episode](at_once.judges, self._complete)
        self._exporting = BoundedStream[_Episode](at_once.exports, self._export)
        self._waits: dict[Identity, EpisodeWaits] = {}

    @property
    def waiting(self) -> list[EpisodeWaits]:
        """What each finished episode still waits for, the longest wait first."""
        return list(self._waits.values())

    async def hold(self, row: EpisodeRow, folder: Path, compute: Compute) -> EpisodeRow:
        """What takes the episode's environment; see :func:`engine.scoring.held.score_held`."""
        row = await score_held(self._means, row, folder, compute, self._files)
        if self._left_to_backend and is_scored(row):
            row.trace_ref = trace_reference(self._means, correlation_id(self._means.run_id, folder))
        return row

    def push(self, position: int, row: EpisodeRow, folder: Path) -> None:
        """The episode's environment is released: the rest goes on behind it. Never raises."""
        if not is_scored(row):
            self._final(position, row, folder)
            return
        if self._left_to_backend:
            return
        episode = _Episode(position, row, folder)
        self._wait_for(episode, "its turn")
        episode.completed = self._completing.push(episode)
        if self._means.exporter is not None:
            self._exporting.push(episode, after=episode.completed)

    def close(self) -> None:
        """Launch nothing more: what waits for its turn is left for a resume."""
        self._completing.close()
        self._exporting.close()

    async def settle(self) -> None:
        """Wait for all that was pushed, and then raise the first fault that was ours, where there was one."""
        await self._completing.join()
        await self._exporting.join()
        await self._completing.settle()
        await self._exporting.settle()

    async def _complete(self, episode: _Episode) -> None:
        def told(row: EpisodeRow, what: str) -> None:
            episode.row = row  # what is known by now is exported, should a fault of ours end the rest
            self._wait_for(episode, what)

        episode.row = await complete(self._means, episode.row, episode.folder, self._files, told)
        if self._means.exporter is None:
            await self._end(episode)
        else:
            await self._files.record(episode.row, episode.folder)
            self._wait_for(episode, "its export's turn")

    async def _export(self, episode: _Episode) -> None:
        from engine.scoring.sinks import ExportItem

        assert self._means.exporter is not None
        if episode.completed is None or episode.completed.place == "unlaunched":
            return
        self._wait_for(episode, "export")
        evidence = read_evidence(episode.row, episode.folder)
        key = correlation_id(self._means.run_id, episode.folder)
        item = ExportItem(
            run_id=self._means.run_id,
            graph_name=self._means.graph_name,
            correlation_id=key,
            row=episode.row,
            events=evidence.events,
            snapshot=evidence.snapshot,
            idempotency_key=key,
            judge_models=self._means.models,
        )
        outcomes = await self._means.exporter.export(item)
        episode.row = msgspec.structs.replace(episode.row, exports=outcomes)
        await self._end(episode)

    async def _end(self, episode: _Episode) -> None:
        episode.row = msgspec.structs.replace(episode.row, scoring="final")
        await self._files.record(episode.row, episode.folder)
        del self._waits[episode.row.identity]
        self._changed()
        self._final(episode.position, episode.row, episode.folder)

    def _wait_for(self, episode: _Episode, what: str) -> None:
        row = episode.row
        self._waits[row.identity] = EpisodeWaits(
            episode_index=row.episode_index, folder=episode.folder.name, waits_for=what, since=now_iso()
        )
        self._changed()
