"""A run's episodes after their last step: judged and exported behind those that still run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from engine.scoring.after import is_judged, judge, observe
from engine.scoring.collecting import trace_reference
from engine.scoring.context import Compute
from engine.scoring.evidence import correlation_id, read_evidence, trace_on_platform
from engine.scoring.held import score_held
from engine.scoring.scored import Files, Means, Told, is_scored
from engine.scoring.streams import BoundedStream
from engine.store.fence import FencedError
from engine.store.records import EpisodeRow, EpisodeWaits, Identity, now_iso
from engine.store.scores import ExportOutcome, Stage, stage_time

if TYPE_CHECKING:
    from engine.scoring.sinks import ExportItem

Final = Callable[[int, EpisodeRow, Path], None]
"""Called with an episode's place in the list, its row and its folder, once nothing more happens to it."""

OBSERVED_AT_ONCE = 16
"""Mostly they wait for a trace to arrive: not at the cost of the judges' places."""


class PhaseError(Exception):
    """A fault of ours, in what is done behind the episodes. Its text begins with the phase."""

    def __init__(self, phase: str, fault: Exception) -> None:
        self.phase = phase
        super().__init__(f"{phase}: {type(fault).__name__}: {fault}")


class _Episode:
    """One episode on its way; ``row`` is replaced as it goes, ``before`` is what its scores were.
    ``broken``: a fault of ours ended a part."""

    def __init__(self, position: int, row: EpisodeRow, folder: Path) -> None:
        self.position = position
        self.row = row
        self.folder = folder
        self.before = row.scores
        self.broken = False

    @contextmanager
    def part(self) -> Iterator[None]:
        try:
            yield
        except Exception:
            self.broken = True
            raise


class Pipeline:
    """Use it once, on one event loop.

    ``changed``: called when :meth:`waiting` answers another. ``final``: called when an episode's row is
    final, or the rest is left to the backend. ``in_backend``: this is where that rest is done.
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
        self._waits: dict[Identity, EpisodeWaits] = {}
        at_once = means.spec.concurrency
        self._observing = BoundedStream[_Episode](OBSERVED_AT_ONCE, self._observe)
        self._judging = BoundedStream[_Episode](at_once.judges, self._judge)
        self._exporting = BoundedStream[_Episode](at_once.exports, self._export)

    def waiting(self) -> list[EpisodeWaits]:
        """What each finished episode still waits for, that which ended first before the others."""
        return list(self._waits.values())

    async def hold(self, row: EpisodeRow, folder: Path, compute: Compute) -> EpisodeRow:
        """What takes the episode's environment; see :func:`engine.scoring.held.score_held`."""

        def told(row: EpisodeRow, what: str) -> None:
            self._wait_for(row, folder, what)

        row = await score_held(self._means, row, folder, compute, self._files, told)
        if is_scored(row):
            self._wait_for(row, folder, "release")
            if self._left_to_backend:
                row.trace_ref = trace_reference(self._means, correlation_id(self._means.run_id, folder))
        return row

    def push(self, position: int, row: EpisodeRow, folder: Path) -> None:
        """The episode's environment is released: the rest goes on behind it. Never raises."""
        if not is_scored(row):
            self._final(position, row, folder)
            return
        if self._left_to_backend:
            self._wait_for(row, folder, "collect")
            self._final(position, row, folder)
            return
        episode = _Episode(position, row, folder)
        self._wait_for(row, folder, "its turn")
        observed = self._observing.push(episode)
        judged = self._judging.push(episode, after=observed)
        self._exporting.push(episode, after=judged)

    def close(self) -> None:
        """Launch nothing more: what waits for its turn is left for a resume."""
        for stream in (self._observing, self._judging, self._exporting):
            stream.close()

    async def settle(self) -> None:
        """Wait for all that was pushed, and then raise the first OSError, FencedError or PhaseError."""
        streams = {"observers": self._observing, "judges": self._judging, "exports": self._exporting}
        for stream in streams.values():
            await stream.join()
        for phase, stream in streams.items():
            try:
                await stream.settle()
            except (OSError, FencedError):
                raise
            except Exception as fault:
                raise PhaseError(phase, fault) from fault

    async def _observe(self, episode: _Episode) -> None:
        with episode.part():
            episode.row = await observe(
                self._means, episode.row, episode.folder, self._files, self._told(episode)
            )
        self._wait_for(episode.row, episode.folder, "its turn to be judged")

    async def _judge(self, episode: _Episode) -> None:
        try:
            with episode.part():
                if not episode.broken and is_judged(self._means, episode.row):
                    episode.row = await judge(
                        self._means, episode.row, episode.folder, self._files, self._told(episode)
                    )
        finally:
            if self._means.exporter is None:
                await self._end(episode)
            else:
                self._wait_for(episode.row, episode.folder, "its turn to be exported")

    async def _export(self, episode: _Episode) -> None:
        """Whether or not the judges went well: with the scores that there are."""
        if self._means.exporter is None:
            return
        self._wait_for(episode.row, episode.folder, "export")
        if episode.row.scores != episode.before:  # what was exported before is not what there is now
            episode.row = msgspec.structs.replace(episode.row, exports=[])
        began = stage_time()
        outcomes = await self._means.exporter.export(await asyncio.to_thread(self._item, episode))
        kept = [one for one in episode.row.stages if not one.name.startswith("export:")]
        stages = [*kept, *(_stage(outcome, began) for outcome in outcomes)]
        episode.row = msgspec.structs.replace(episode.row, exports=outcomes, stages=stages)
        await self._end(episode)

    def _item(self, episode: _Episode) -> ExportItem:
        from engine.scoring.sinks import ExportItem

        evidence = read_evidence(episode.row, episode.folder)
        key = correlation_id(self._means.run_id, episode.folder)
        return ExportItem(
            run_id=self._means.run_id,
            graph_name=self._means.graph_name,
            correlation_id=key,
            row=episode.row,
            events=evidence.events,
            snapshot=evidence.snapshot,
            existing_id=trace_on_platform(evidence.events),
            idempotency_key=key,
            judge_models=self._means.models,
        )

    async def _end(self, episode: _Episode) -> None:
        """Put down what came of it; what a fault of ours broke is not final, and is taken up by a resume."""
        if not episode.broken:
            episode.row = msgspec.structs.replace(episode.row, scoring="final")
        await self._files.record(episode.row, episode.folder)
        self._waits.pop(episode.row.identity, None)
        self._changed()
        if not episode.broken:
            self._final(episode.position, episode.row, episode.folder)

    def _told(self, episode: _Episode) -> Told:
        def told(row: EpisodeRow, what: str) -> None:
            episode.row = row  # what is known by now is exported, should a fault of ours end the rest
            self._wait_for(row, episode.folder, what)

        return told

    def _wait_for(self, row: EpisodeRow, folder: Path, what: str) -> None:
        self._waits[row.identity] = EpisodeWaits(
            episode_index=row.episode_index, folder=folder.name, waits_for=what, since=now_iso()
        )
        self._changed()


def _stage(outcome: ExportOutcome, began: str) -> Stage:
    return Stage(
        name=f"export:{outcome.name}",
        started_at=began,
        finished_at=max(began, outcome.exported_at or stage_time()),
        error=outcome.error,
        error_class="infra" if outcome.error is not None else None,
        retryable=outcome.error is not None,
    )
