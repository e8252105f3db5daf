"""An episode that is looked at: opened, followed while it is written, searched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import Any

from engine.store.verdict import Verdict, verdict_of
from tui.episode.details import DetailReader
from tui.episode.places import Ending, Place, read_ending
from tui.episode.rows import LogRows, parse
from tui.logfile.follow import extend, follow
from tui.logfile.index import LogIndex
from tui.logfile.search import Query, SearchError, search

EVERY_SEC = 0.5
TYPING_SEC = 0.15
"""A search begins when nothing was typed for so long."""


class LogSession:
    """One place at a time. All methods belong to the loop; ``changed`` is called on it.

    before: what is said while there is no place. rows: None until there is a log. whole: it was indexed to
    its end once. following: the cursor stays on the newest row. torn: bytes of a last line without its end.
    found_all: the search is through. verdict: why it failed, where that is no error.
    """

    def __init__(self, changed: Callable[[], None], every: float = EVERY_SEC) -> None:
        self._changed = changed
        self._every = every
        self._tasks: set[asyncio.Task[None]] = set()
        self._search: asyncio.Task[None] | None = None
        self.place: Place | None = None
        self.before = "reading…"
        self._forget()

    def _forget(self) -> None:
        self.ending = Ending()
        self.verdict: Verdict | None = None
        self.rows: LogRows | None = None
        self.details: DetailReader | None = None
        self.whole = False
        self.following = False
        self.typed = ""
        self.query = Query("")
        self.searched = 0.0
        self.search_problem = ""
        self.problem = ""
        self._searched_rows = 0

    @property
    def found_all(self) -> bool:
        return self.searched >= 1.0

    @property
    def torn(self) -> int:
        """Of a log that is still written: 0."""
        if self.rows is None or not self.whole or self.ending.going is not None:
            return 0
        return max(0, self.rows.index.file_size() - self.rows.index.size)

    async def open(self, place: Place, offset: int | None = None) -> None:
        """Show this one: with the cursor at a byte of its log, else where one looks first."""
        await self.close()
        self._forget()
        self.place = place
        self.ending = await asyncio.to_thread(read_ending, place)
        self._changed()
        self._begin(self._watch(place, offset))
        if not self.ending.is_final and place.is_whole:
            self._begin(self._watch_ending(place))

    async def close(self) -> None:
        """Look no more."""
        tasks = [*self._tasks, *([self._search] if self._search else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self.rows is not None:
            self.rows.index.close()
            self.rows = None

    def follow(self, on: bool) -> None:
        self.following = on
        if on and self.rows is not None:
            self.rows.move_to(len(self.rows) - 1)

    def set_filter(self, typed: str) -> None:
        """As it is typed at ``/``: words are searched for, and what must not be there and the rest hide rows.

        Raises FilterError.
        """
        wanted = parse(typed) if typed.strip() else None
        self.typed = typed
        if self.rows is None:
            return
        self.rows.set_filter(wanted)
        query = Query(wanted.text, wanted.without) if wanted else Query("")
        if query != self.query:
            before, self.query = self.query, query
            if query.without or before.without:
                self.rows.set_only_matches(bool(query.without))
            self._start_search(0, wait=TYPING_SEC)

    def _start_search(self, first: int, wait: float = 0.0) -> None:
        if self._search is not None:
            self._search.cancel()
        self.search_problem = ""
        if first == 0 and self.rows is not None:
            self.rows.forget_matches(keep=bool(self.query.without))
        self.searched = 0.0 if self.query else 1.0
        if self.query:
            self._search = asyncio.get_running_loop().create_task(self._look_for(self.query, first, wait))

    async def _look_for(self, query: Query, first: int, wait: float) -> None:
        await asyncio.sleep(wait)
        rows = self.rows
        if rows is None:
            return
        self._searched_rows = rows.index.rows
        jumped = first > 0
        try:
            async with aclosing(search(rows.index, query, first)) as parts:
                async for found in parts:
                    rows.found(found.rows)
                    if (
                        not jumped
                        and len(rows.matches)
                        and (rows.matches[-1] >= rows.at or found.progress >= 1)
                    ):
                        jumped = True
                        if not rows.is_match(rows.at):
                            rows.jump_to_match(forward=True)
                    self.searched = found.progress
                    self._changed()
        except (SearchError, OSError) as error:
            self.search_problem = str(error)
        self.searched = 1.0
        self._changed()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watch(self, place: Place, offset: int | None) -> None:
        while True:
            index = await self._opened(place)
            rows = self.rows = LogRows(index)
            self.details = DetailReader(index, place.folder)
            try:
                index.advance()
                self._look_first(rows, offset)
                self._changed()
                await extend(index)
                self.whole = True
                await self._look_for_verdict(place)
                self._look_first(rows, offset)
                self._grown()
                async with aclosing(follow(index, self._every)) as changes:
                    async for change in changes:
                        if change == "replaced":
                            break
                        self._grown()
            except OSError as error:
                self.problem = f"the log cannot be read: {error.strerror or error}"
                self._changed()
                return
            index.close()
            self.rows, self.whole, offset = None, False, None

    async def _opened(self, place: Place) -> LogIndex:
        """Its index, as soon as there is a log."""
        while True:
            before = self.problem
            try:
                if place.log.is_file():
                    self.problem = ""
                    return LogIndex(place.log)
                self.problem = "there is no log.jsonl" if not place.log.exists() else "log.jsonl is no file"
            except OSError as error:
                self.problem = f"the log cannot be read: {error.strerror or error}"
            self.whole = True
            if self.problem != before:
                self._changed()
            await asyncio.sleep(self._every)

    async def _watch_ending(self, place: Place) -> None:
        while not self.ending.is_final:
            await asyncio.sleep(self._every)
            before, self.ending = self.ending, await asyncio.to_thread(read_ending, place)
            if self.ending != before:
                if self.ending.file is not None:
                    self.following = False
                    await self._look_for_verdict(place)
                self._changed()

    async def _look_for_verdict(self, place: Place) -> None:
        """Once the episode has ended and its log is read."""
        rows, row = self.rows, self.ending.row
        if rows is None or row is None or not self.whole:
            return
        try:
            self.verdict = await asyncio.to_thread(verdict_of, place.log, row)
        except OSError:
            return  # whoever reads its rows says so
        if self.verdict is not None and rows.index.rows:
            rows.set_verdict(rows.index.row_at(self.verdict.offset))

    def _look_first(self, rows: LogRows, offset: int | None) -> None:
        """The first error; else, once all is indexed, what measured that it failed, or the end of what failed
        or goes on."""
        if rows.touched:
            return
        error = rows.next_error(-1)
        if offset is not None:
            rows.at = rows.index.row_at(offset)
        elif error is not None:
            rows.at = error
        elif self.whole and (self.ending.failed or self.ending.going is not None):
            rows.at = max(0, rows.index.rows - 1)
            self.following = self.ending.going is not None

    def _grown(self) -> None:
        rows = self.rows
        if rows is None:
            return
        rows.grown()
        if self.following:
            rows.move_to(len(rows) - 1)
        if self.query and self.found_all and rows.index.rows > self._searched_rows:
            self._start_search(self._searched_rows)
        self._changed()
