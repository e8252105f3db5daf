"""Search in a log, by a process that can be killed: no regex, however slow, stops the screen."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from tui.logfile.index import LogIndex

_CHILD = Path(__file__).with_name("search_child.py")
_MAX_LINE = 64 << 20
_META = re.compile(r"[][\\.^$*+?{}|()]")

PART_SEC = 10.0
"""A search ends that takes longer for some megabytes: no regex is worth more."""


class SearchError(ValueError):
    """The query cannot be searched for."""


@dataclass(frozen=True)
class Query:
    """What a row's JSON must hold, inputs and outputs included, and what it must not (``without``).

    Each is found as it is read, or as a regex on the line as it stands in the file; between slashes, as a
    regex alone. Without capitals, ASCII's case is ignored.
    """

    text: str
    without: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text or self.without)

    def terms(self) -> list[str]:
        """As the process that searches takes them. Raises SearchError."""
        if not self:
            raise SearchError("nothing to search for")
        wanted = [f"+{_term(self.text)}"] if self.text else []
        return [*wanted, *(f"-{_term(text)}" for text in self.without)]


def _term(text: str) -> str:
    case = "i" if text == text.lower() else "."
    if len(text) > 2 and text.startswith("/") and text.endswith("/"):
        if problem := _no_regex(text[1:-1]):
            raise SearchError(f"not a regex: {problem}")
        return f"{case}r{text[1:-1]}"
    literal = json.dumps(text, ensure_ascii=False)[1:-1]
    if not _META.search(text) or _no_regex(text):
        return f"{case}.{literal}"
    return f"{case}r{text}|{re.escape(literal)}"


def _no_regex(text: str) -> str:
    """Why it is none; "" where it is one."""
    try:
        re.compile(text.encode("utf-8", "surrogateescape"))
    except (re.error, UnicodeEncodeError, OverflowError, RecursionError) as error:
        return str(error) or type(error).__name__
    return ""


@dataclass(frozen=True)
class Found:
    """More of the answer: rows that match, ascending, and how much of the log was searched (0 to 1)."""

    rows: tuple[int, ...]
    progress: float


async def search(index: LogIndex, query: Query, first: int = 0) -> AsyncGenerator[Found]:
    """The rows from ``first`` on, as far as the log is indexed now, in parts.

    Closing the iterator, or cancelling who waits for it, ends the search at once. Raises SearchError.
    """
    terms = query.terms()
    if first >= index.rows:
        return
    start = index.starts[first]
    size = index.size - start
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
            str(PART_SEC),
        ),
        *terms,
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
        if (code := await child.wait()) == -signal.SIGALRM:
            raise SearchError("it takes too long: a regex that goes back and forth less is faster")
        if code:
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
