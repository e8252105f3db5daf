"""A file of lines that grows: gathered in memory, written at the end of a step in one go."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from engine.store.disk import named

LARGEST_BUFFER = 1 << 20
"""Bytes that are held at most before they are written."""


class AppendFile:
    """Made with its first line. One writer; raises OSError that names the file. ``before``: called before
    each write, and what it raises is passed on. ``strike`` takes out of a line what is not to be written."""

    def __init__(
        self,
        path: Path,
        before: Callable[[], object] | None = None,
        strike: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self._path = path
        self._before = before
        self._strike = strike
        self._buffer = bytearray()
        self._file: int | None = None

    def line(self, content: bytes) -> None:
        """Add a line; it becomes readable with the next flush."""
        self._buffer += self._strike(content)
        self._buffer += b"\n"
        if len(self._buffer) > LARGEST_BUFFER:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered. What cannot be written is kept for the next time."""
        if not self._buffer:
            return
        if self._before is not None:
            self._before()
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            while self._buffer:
                del self._buffer[: os.write(self._file, self._buffer)]
        except OSError as error:
            raise named(error, self._path) from error

    def close(self) -> None:
        """Flush, and see it on the disk."""
        try:
            self.flush()
            if self._file is not None:
                os.fsync(self._file)
        except OSError as error:
            raise named(error, self._path) from error
        finally:
            if self._file is not None:
                os.close(self._file)
                self._file = None
