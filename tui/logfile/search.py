"""Search in a log, by a process that can be killed: no regex, however slow, stops the screen."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from tui.logfile.index import LogIndex

_CHILD = Path(__file__).with_name("search_child.py")
_MAX_LINE = 64 << 20


class SearchError(ValueError):
    """The query cannot be searched for."""


@dataclass(frozen=True)
class Query:
    """What to find in a row's JSON, inputs and outputs included. Without capitals, ASCII's case is ignored.

    ``/…/`` is a regex, on the line as it stands in the file; anything else is found as it is read.
    """

    text: str

    @property
    def is_regex(self) -> bool:
        return len(self.text) > 2 and self.text.startswith("/") and self.text.endswith("/")

    @property
    def ignores_case(self) -> bool:
        return self.text == self.text.lower()

    def pattern(self) -> str:
        """For the line as it is in the file. Raises SearchError."""
        if not self.text:
            raise SearchError("nothing to search for")
        if not self.is_regex:
            return json.dumps(self.text, ensure_ascii=False)[1:-1]
        pattern = self.text[1:-1]
        try:
            re.compile(pattern.encode("utf-8", "surrogateescape"))
        except (re.error, UnicodeEncodeError, OverflowError, RecursionError) as error:
            raise SearchError(f"not a regex: {error}") from None
        return pattern


@dataclass(frozen=True)
class Found:
    """More of the answer: rows that match, ascending, and how much of the log was searched (0 to 1)."""

    rows: tuple[int, ...]
    progress: float


async def search(index: LogIndex, query: Query, first: int = 0) -> AsyncGenerator[Found]:
    """The rows from ``first`` on, as far as the log is indexed now, in parts.

    Closing the iterator, or cancelling who waits for it, ends the search at once. Raises SearchError.
    """
    pattern = query.pattern()
    if first >= index.rows:
        return
    start = index.starts[first]
    size = index.size - start
    options = ("i" if query.ignores_case else "", "r" if query.is_regex else "")
    child = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-S",
            "-E",
            _CHILD,
            index.path,
            str(start),
            str(first),
            str(size),
            pattern,
            *options,
        ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_MAX_LINE,
    )
    try:
        assert child.stdout is not None
        async for line in child.stdout:
            done, *rows = map(int, line.split())
            yield Found(tuple(rows), min(1.0, done / size))
        if await child.wait():
            raise SearchError(await _last_words(child))
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()


async def _last_words(child: asyncio.subprocess.Process) -> str:
    assert child.stderr is not None
    return (await child.stderr.read()).decode("utf-8", "replace").strip().rpartition("\n")[
        2
    ] or "the search ended"
