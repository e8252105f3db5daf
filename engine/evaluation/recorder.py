"""The run process's files: every finished episode before it is counted, then summary and progress."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec

from engine.statistics.aggregate import aggregate
from engine.store.atomic import write_json
from engine.store.digest import result_digest
from engine.store.jsonl import LineAppender
from engine.store.records import (
    EpisodeFile,
    EpisodeRow,
    Identity,
    MetricStats,
    Progress,
    RunStatus,
    Summary,
    now_iso,
)
from engine.store.rundir import RunDir
from engine.store.strict_json import encode

WRITE_INTERVAL_SEC = 0.25


class Recorder:
    """The one writer of a run's files. Disk work is done in order in a thread of its own, off the event loop.

    ``on_failure`` is called once, with the OSError, when a file could not be written.
    """

    def __init__(
        self, run: RunDir, summary: Summary, graph_hash: str, on_failure: Callable[[OSError], None]
    ) -> None:
        self.summary = summary
        self.progress = Progress(run_id=run.run_id, updated_at=now_iso())
        self._run = run
        self._graph_hash = graph_hash
        self._on_failure = on_failure
        self._rows: dict[Identity, EpisodeRow] = {}
        self._appender = LineAppender(run.episode_rows)
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="disk")
        self._began = time.monotonic()
        self._changed = asyncio.Event()
        self._summary_changed = False
        self._writer: asyncio.Task[None] | None = None

    @property
    def rows(self) -> list[EpisodeRow]:
        """Finished episodes in identity order."""
        return [self._rows[identity] for identity in sorted(self._rows)]

    def start(self) -> None:
        self._writer = asyncio.create_task(self._write_periodically())

    async def record(self, row: EpisodeRow, folder: Path) -> None:
        """Put a finished episode on disk, then count it. Raises OSError."""
        await self._off_loop(partial(self._store_row, row, folder))
        self._rows[row.identity] = row
        self._summary_changed = True
        self._changed.set()

    async def set_aside(self, row: EpisodeRow, folder: Path) -> None:
        """Mark a recorded episode as one that does not count. Raises OSError."""
        marked = msgspec.structs.replace(row, beyond_stop=True)
        await self._off_loop(partial(self._store_row, marked, folder))
        del self._rows[row.identity]

    def show(self, activity: str | None = None) -> None:
        """Progress changed: written with the next tick. Called at every firing, so it only takes note."""
        if activity is not None:
            self.progress.activity = activity
        self._changed.set()

    async def finish(self, status: RunStatus, error: str | None) -> None:
        """Write the last summary and ``_DONE``. Raises OSError."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
        self.summary.status = status
        self.summary.error = error
        self.summary.finished_at = now_iso()
        self._fold_rows()
        self.summary.result_digest = result_digest(self.summary.episodes)
        await self._off_loop(self._write_end)
        self._disk.shutdown()
        self._appender.close()

    def _store_row(self, row: EpisodeRow, folder: Path) -> None:
        config = self.summary.config
        whole = EpisodeFile(
            run_id=self._run.run_id,
            graph_name=config.graph_name,
            graph_hash=self._graph_hash,
            seed=config.seed,
            episode=row,
        )
        write_json(folder / "episode.json", whole)
        self._appender.append(row)

    def _write_end(self) -> None:
        self._write_progress()
        write_json(self._run.summary, self.summary)
        self._run.mark_done()

    async def _write_periodically(self) -> None:
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                if self._summary_changed:
                    self._summary_changed = False
                    self._fold_rows()
                    frozen = msgspec.Raw(encode(self.summary))
                    await self._off_loop(partial(write_json, self._run.summary, frozen))
                await self._off_loop(self._write_progress)
                await asyncio.sleep(WRITE_INTERVAL_SEC)
        except OSError as error:
            self._on_failure(error)

    def _write_progress(self) -> None:
        self.progress.updated_at = now_iso()
        write_json(self._run.progress, self.progress, durable=False)

    def _fold_rows(self) -> None:
        rows, summary = self.rows, self.summary
        result = aggregate(rows)
        summary.episodes = rows
        summary.completed_count = len(rows)
        summary.error_count = sum(row.status == "error" for row in rows)
        summary.aggregate_metrics = result.metrics
        summary.aggregate_by_task = result.by_task
        summary.metric_stats = {
            name: MetricStats(mean=s.mean, n=s.n, stderr=s.stderr, ci95=s.ci95)
            for name, s in result.stats.items()
        }
        summary.nonfinite = _nonfinite(rows)
        summary.elapsed_sec = round(time.monotonic() - self._began, 3)

    async def _off_loop(self, work: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._disk, work)


def _nonfinite(rows: Iterable[EpisodeRow]) -> dict[str, int]:
    counts = Counter(name for row in rows for name, value in row.metrics.items() if value is None)
    return dict(sorted(counts.items()))
