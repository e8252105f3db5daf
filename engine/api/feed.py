"""What happens to a run, as numbered events. Read from its files, once for all who listen."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from engine.api.answers import Narrated, row_of
from engine.control.protocol import Control
from engine.control.reports import RunReport
from engine.store.records import EpisodeRow, Identity
from engine.store.rundir import RunDir
from engine.store.strict_json import encode

log = logging.getLogger(__name__)

POLL_SEC = 0.5
KEPT = 64
"""Events that a listener may be behind; one that is further behind gets a snapshot in their place."""
_PIECE = 1 << 20


class Event(NamedTuple):
    number: int
    kind: str
    data: bytes


class Feed:
    """The events of one run, the newest ``KEPT`` of them."""

    def __init__(self, control: Control, report: RunReport) -> None:
        self.listeners = 0
        self.over = report.is_over
        self._control = control
        self._report = report
        self._rows = RowTail(RunDir(Path(report.path)).episode_rows)
        self._files = [Path(report.path) / name for name in ("summary.json", "progress.json", "job.json")]
        self._seen: Any = None
        self._number = 0
        self._events: deque[Event] = deque(maxlen=KEPT)
        self._news = asyncio.Event()
        self._rows.skip()

    def snapshot(self) -> Event:
        """How the run stands, with the number of the last event."""
        kind = "eval_complete" if self.over else "eval_progress"
        return Event(self._number, kind, self._told(snapshot=True))

    def after(self, number: int) -> list[Event] | None:
        """The events after ``number``; None where some of them are not kept any more."""
        if number < self._number - len(self._events):
            return None
        return [event for event in self._events if event.number > number]

    async def wait(self, seconds: float) -> None:
        """Until there is something new, at most so long."""
        news = self._news
        try:
            async with asyncio.timeout(seconds):
                await news.wait()
        except TimeoutError:
            return

    async def follow(self) -> None:
        """Look at the run until it is over."""
        while not self.over:
            try:
                found = await asyncio.to_thread(self._look)
            except Exception as error:  # deleted, or unreadable for a moment
                log.warning("run %s cannot be followed: %s", self._report.run_id, error)
                self.over = True
                self._tell()
                return
            self._publish(*found)
            if not self.over:
                await asyncio.sleep(POLL_SEC)

    def _look(self) -> tuple[RunReport | None, list[EpisodeRow]]:
        """The run where it may have changed, and its new rows."""
        seen = [_stamp(path) for path in self._files]
        rows = self._rows.read()
        if seen == self._seen:
            return None, rows
        report = self._control.show(self._report.run_id)
        self._seen = seen
        return report, rows or (self._rows.read() if report.is_over else rows)

    def _publish(self, report: RunReport | None, rows: list[EpisodeRow]) -> None:
        changed = report is not None and (report.summary, report.progress, report.status) != (
            self._report.summary,
            self._report.progress,
            self._report.status,
        )
        if report is not None:
            self._report = report
        for row in rows:
            self._add("eval_episode_done", encode({"run_id": self._report.run_id, "episode": row}))
        self.over = self._report.is_over
        if self.over:
            self._add("eval_complete", self._told())
        elif changed:
            self._add("eval_progress", self._told())
        if rows or changed or self.over:
            self._tell()

    def _told(self, *, snapshot: bool = False) -> bytes:
        return encode(Narrated(run=row_of(self._report), progress=self._report.progress, snapshot=snapshot))

    def _add(self, kind: str, data: bytes) -> None:
        self._number += 1
        self._events.append(Event(self._number, kind, data))

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class RowTail:
    """The rows that are appended to episodes.jsonl, each once; of an episode that is scored the first, and
    the final one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._decoder = msgspec.json.Decoder(EpisodeRow)
        self._pending: set[Identity] = set()

    def skip(self) -> None:
        """Pass over what is there by now."""
        before = -1
        while before != self._offset:
            before = self._offset
            self.read()

    def read(self) -> list[EpisodeRow]:
        """What is new, a bounded piece at a time."""
        rows: list[EpisodeRow] = []
        ends = self._offset + _PIECE
        with suppress(FileNotFoundError), open(self._path, "rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n") or self._offset >= ends:
                    break
                self._offset += len(line)
                if (row := self._row(line)) and self._is_news(row):
                    rows.append(row)
        return rows

    def _is_news(self, row: EpisodeRow) -> bool:
        if row.scoring != "pending":
            self._pending.discard(row.identity)
            return True
        known = row.identity in self._pending
        self._pending.add(row.identity)
        return not known

    def _row(self, line: bytes) -> EpisodeRow | None:
        try:
            return self._decoder.decode(line)
        except msgspec.MsgspecError:  # torn by a full disk, and closed off since
            return None


class Feeds:
    """The feeds that somebody listens to. A feed ends with its last listener."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._feeds: dict[str, tuple[Feed, asyncio.Task[None]]] = {}

    @property
    def listeners(self) -> int:
        return sum(feed.listeners for feed, _ in self._feeds.values())

    async def open(self, run: str) -> tuple[Feed, Callable[[], None]]:
        """The feed of a run, and what to call when it is listened to no more. Raises ControlError."""
        report = await asyncio.to_thread(self._control.show, run)
        known = self._live(report.run_id)
        if known is None:
            feed = await asyncio.to_thread(Feed, self._control, report)
            known = self._live(report.run_id) or (feed, asyncio.create_task(feed.follow()))
            self._feeds[report.run_id] = known
        feed, task = known
        feed.listeners += 1

        def close() -> None:
            feed.listeners -= 1
            if not feed.listeners:
                task.cancel()
                if self._feeds.get(report.run_id) is known:
                    del self._feeds[report.run_id]

        return feed, close

    def _live(self, run_id: str) -> tuple[Feed, asyncio.Task[None]] | None:
        known = self._feeds.get(run_id)
        return known if known and not known[0].over else None


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino
