"""Answers by the content of their requests: what makes a run that is run again exact, and free."""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from engine.models.answer import Answer
from engine.store.strict_json import encode

log = logging.getLogger(__name__)


class _Entry(msgspec.Struct):
    key: str
    answer: Answer


class RequestCache:
    """A file of lines ``{key, answer}`` that only grows; several threads and processes may share it.

    Of two answers to one request, the first in the file counts, for all. A line that is damaged, by a killed
    writer or by hand, costs itself: what it was is asked again. Methods raise OSError, and block for the
    disk: not for an event loop's thread. ``before``: called before each write; what it raises is passed on.
    """

    def __init__(self, path: Path, before: Callable[[], object] | None = None) -> None:
        self.path = path
        self._before = before
        self._lock = threading.Lock()
        self._fd: int | None = None
        self._places: dict[str, tuple[int, int]] = {}
        self._read_to = 0

    def find(self, key: str) -> Answer | None:
        """The answer to a request, where there is one."""
        with self._lock:
            return self._find(self._opened(), key)

    def keep(self, key: str, answer: Answer) -> Answer:
        """Keep an answer, and give the one that counts: another may have been there before it."""
        with self._lock, self._alone() as fd:
            there = self._find(fd, key)
            if there is not None:
                return there
            if self._before is not None:
                self._before()
            line = encode(_Entry(key, answer)) + b"\n"
            torn = os.fstat(fd).st_size != self._read_to
            _write(fd, b"\n" + line if torn else line)
            return answer

    def close(self) -> None:
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None

    def _opened(self) -> int:
        if self._fd is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        return self._fd

    @contextmanager
    def _alone(self) -> Iterator[int]:
        """The file, with no other process at it."""
        fd = self._opened()
        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            yield fd
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)

    def _find(self, fd: int, key: str) -> Answer | None:
        self._catch_up(fd)
        place = self._places.get(key)
        if place is None:
            return None
        start, length = place
        entry = _entry(os.pread(fd, length, start))
        if entry is not None and entry.key == key:
            return entry.answer
        del self._places[key]  # changed since it was noted
        return None

    def _catch_up(self, fd: int) -> None:
        """Take note of the whole lines that were added since, by whomever."""
        if os.fstat(fd).st_size == self._read_to:
            return
        with open(fd, "rb", closefd=False) as file:
            file.seek(self._read_to)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._note(line)
                self._read_to += len(line)

    def _note(self, line: bytes) -> None:
        entry = _entry(line)
        if entry is None:
            log.warning("%s: the line at byte %d is no answer, and passed over", self.path, self._read_to)
        else:
            self._places.setdefault(entry.key, (self._read_to, len(line)))


def _entry(line: bytes) -> _Entry | None:
    try:
        entry = msgspec.json.decode(line, type=_Entry)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return entry if entry.answer.texts else None


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
