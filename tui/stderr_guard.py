"""While the screen is up, what libraries and children print goes to a log, not over the screen."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tui.sanitize import visible_lines

MAX_LOG_BYTES = 1 << 20


class StderrGuard:
    """Points file descriptors 1 and 2 at ``log`` between ``__enter__`` and ``__exit__``.

    terminal_fd: the terminal, for the driver: the first of stdout, stderr and stdin that is one. The log is
    appended to; beyond MAX_LOG_BYTES it begins anew (:meth:`trim`, called now and then). One that cannot be
    written is done without.
    """

    def __init__(self, log: Path) -> None:
        self.log = log
        self.terminal_fd = -1
        self._log_fd = -1
        self._saved: dict[int, int] = {}

    def __enter__(self) -> Self:
        self._log_fd = self._open_log()
        self.trim()
        self.terminal_fd = os.dup(next((fd for fd in (1, 2, 0) if os.isatty(fd)), 2))
        _flush()
        self._saved = {fd: os.dup(fd) for fd in (1, 2)}
        for fd in self._saved:
            os.dup2(self._log_fd, fd)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _flush()
        for fd, saved in self._saved.items():
            os.dup2(saved, fd)
        for fd in (*self._saved.values(), self._log_fd, self.terminal_fd):
            os.close(fd)

    def _open_log(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return os.open(self.log, flags, 0o600)
        except OSError:  # a screen is worth more than its log
            return os.open(os.devnull, flags)

    def trim(self) -> None:
        """Empty the log if it has grown too long."""
        if os.fstat(self._log_fd).st_size > MAX_LOG_BYTES:
            os.ftruncate(self._log_fd, 0)

    def tail(self, size: int = 8192) -> list[str]:
        """The last lines of the log, fit to be shown; empty if it cannot be read."""
        try:
            with open(self.log, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - size))
                return visible_lines(file.read(size).decode("utf-8", "replace").rstrip("\n"))
        except OSError:
            return []


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, absent, or its disk is full
            stream.flush()
