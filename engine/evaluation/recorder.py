"""The run process's files: every finished episode before it is counted, then summary and progress."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from engine.statistics.folding import fold_rows
from engine.store.atomic import write_bytes, write_json
from engine.store.digest import result_digest
from engine.store.disk import FULL
from engine.store.fence import Fence, FencedError
from engine.store.jsonl import LineAppender
from engine.store.records import (
    EpisodeFile,
    EpisodeRow,
    EpisodeWaits,
    Identity,
    Progress,
    RunStatus,
    Summary,
    now_iso,
)
from engine.store.reserve import Reserve
from engine.store.rundir import RunDir
from engine.store.strict_json import encode

WRITE_INTERVAL_SEC = 0.25
FENCE_LOOK_SEC = 2.0
"""So often a run that writes nothing looks whether it is still its attempt's."""


class Recorder:
    """The one writer of a run's files. Disk work is done in order in a thread of its own, off the event loop.

    ``on_failure`` is called with the OSError when a file could not be written, or only after the reserve was
    given up for it; and with the FencedError when the run is another attempt's. ``waiting``: what finished
    episodes wait for, asked when progress is written.
    """

    def __init__(
        self,
        run: RunDir,
        summary: Summary,
        graph_hash: str,
        fence: Fence,
        on_failure: Callable[[OSError | FencedError], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``clock``: one that stands still adds nothing to the time that the run took."""
        self.summary = summary
        self.progress = Progress(run_id=run.run_id, updated_at=now_iso())
        self.waiting: Callable[[], list[EpisodeWaits]] = list
        self._run = run
        self._graph_hash = graph_hash
        self._fence = fence
        self._reserve = Reserve(run.root)
        self._on_failure = on_failure
        self._rows: dict[Identity, EpisodeRow] = {}
        self._appender: LineAppender | None = None
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="disk")
        self._clock = clock
        self._began = clock()
        self._earlier_sec = summary.elapsed_sec
        self._changed = asyncio.Event()
        self._summary_changed = False
        self._writer: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Write that the run goes on. Raises OSError and FencedError."""
        self._reserve.ensure()
        await self._off_loop(partial(self._write, self._run.summary, self.summary))
        self._writer = asyncio.create_task(self._write_periodically())

    def adopt(self, rows: Iterable[EpisodeRow]) -> None:
        """Count these rows that earlier attempts left, and no others; one that is recorded again replaces its
        own."""
        self._rows = {row.identity: row for row in rows}
        self._summary_changed = True
        self._changed.set()

    async def record(self, row: EpisodeRow, folder: Path) -> None:
        """Put a finished episode on disk, then count it. Raises OSError and FencedError."""
        await self._off_loop(partial(self._store_row, row, folder))
        self._rows[row.identity] = row
        self._summary_changed = True
        self._changed.set()

    async def set_aside(self, row: EpisodeRow, folder: Path) -> None:
        """Mark a recorded episode as one that does not count. Raises OSError and FencedError."""
        marked = msgspec.structs.replace(row, beyond_stop=True)
        await self._off_loop(partial(self._store_row, marked, folder))
        del self._rows[row.identity]

    async def write(self, path: Path, value: Any) -> None:
        """Replace one of the run's other files. Raises OSError and FencedError."""
        await self._off_loop(partial(self._write, path, value))

    async def write_bytes(self, path: Path, data: bytes) -> None:
        """Replace a file of an episode's. Raises OSError and FencedError."""
        await self._off_loop(partial(self._write_bytes, path, data))

    def refused(self, error: OSError) -> None:
        """The box refused a file of an episode."""
        self._on_failure(error)

    def show(self, activity: str | None = None) -> None:
        """Progress changed: written with the next tick. Called at every firing, so it only takes note."""
        if activity is not None:
            self.progress.activity = activity
        self._changed.set()

    async def finish(self, status: RunStatus, error: str | None) -> None:
        """Write the last summary and, unless the run is ``aborted``, ``_DONE``. Raises OSError and
        FencedError."""
        await self.end_as(status, error, now_iso(), done=status != "aborted")

    async def end_as(
        self, status: RunStatus, error: str | None, finished_at: str | None, *, done: bool
    ) -> None:
        """The same of a run that ended so at that time. ``done``: there is nothing to be gone on with."""
        await self.close()
        self._fold_rows()
        with suppress(OSError):
            self._write_progress()
        self.summary.status = status
        self.summary.error = error
        self.summary.finished_at = finished_at
        self.summary.result_digest = result_digest(self.summary.episodes)
        try:
            self._with_room(partial(self._write_end, done))
        except OSError as refused:
            if refused.errno not in FULL or not self._run.progress.exists():
                raise
            self._fence.check()
            self._run.progress.unlink()  # nobody needs it any more, and it has room
            self._write_end(done)

    async def close(self) -> None:
        """Write nothing any more, but what :meth:`finish` does."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
        await asyncio.to_thread(self._disk.shutdown)
        if self._appender is not None:
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
        self._write(folder / "episode.json", whole)
        if self._appender is None:
            self._fence.check()
            self._appender = LineAppender(self._run.episode_rows, self._fence.check)
        self._appender.append(row)

    def _write_bytes(self, path: Path, data: bytes) -> None:
        self._fence.check()
        path.parent.mkdir(exist_ok=True)
        write_bytes(path, data, before=self._fence.check)

    def _write(self, path: Path, value: Any, *, durable: bool = True) -> None:
        self._fence.check()
        write_json(path, value, durable=durable, before=self._fence.check)

    def _write_end(self, done: bool) -> None:
        self._write(self._run.summary, self.summary)
        if done:
            self._run.mark_done(self._fence.check)

    async def _write_periodically(self) -> None:
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(FENCE_LOOK_SEC):
                        await self._changed.wait()
                if not self._changed.is_set():
                    await self._off_loop(self._fence.check)
                    continue
                self._changed.clear()
                if self._summary_changed:
                    self._summary_changed = False
                    self._fold_rows()
                    frozen = msgspec.Raw(encode(self.summary))
                    await self._off_loop(partial(self._write, self._run.summary, frozen))
                await self._off_loop(self._write_progress)
                await asyncio.sleep(WRITE_INTERVAL_SEC)
        except (OSError, FencedError) as error:
            self._on_failure(error)

    def _write_progress(self) -> None:
        self.progress.updated_at = now_iso()
        self.progress.scoring = self.waiting()
        self.progress.scored = self.summary.scored
        self._write(self._run.progress, self.progress, durable=False)

    def _fold_rows(self) -> None:
        rows = [self._rows[identity] for identity in sorted(self._rows)]
        fold_rows(self.summary, rows)
        self.summary.elapsed_sec = round(self._earlier_sec + self._clock() - self._began, 3)

    async def _off_loop(self, work: Callable[[], None]) -> None:
        refused = await asyncio.get_running_loop().run_in_executor(self._disk, self._with_room, work)
        if refused is not None:
            self._on_failure(refused)

    def _with_room(self, work: Callable[[], None]) -> OSError | None:
        """Do it; on a full disk once more, with the room of the reserve: then, the error that came first."""
        try:
            work()
        except OSError as error:
            if error.errno not in FULL or not self._reserve.release():
                raise
            work()
            return error
        return None
