"""Open files kept back for the moment when there are none: a run must be ended then, too."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

_COUNT = 6

NONE_LEFT = (errno.EMFILE, errno.ENFILE)
"""Errors for want of open files."""


class Spares:
    """Holds some descriptors, and lends their places."""

    def __init__(self) -> None:
        self._held: list[int] = []
        self._lending = threading.Lock()
        self._fill()

    def use_if_needed(self, work: Callable[[], T]) -> T:
        """What ``work`` gives. It is done again with the spares' places where it failed for want of files, so
        that it must be able to."""
        try:
            return work()
        except OSError as error:
            if error.errno not in NONE_LEFT:
                raise
        with self._lending:
            self.close()
            try:
                return work()
            finally:
                self._fill()

    def close(self) -> None:
        while self._held:
            os.close(self._held.pop())

    def _fill(self) -> None:
        with suppress(OSError):  # there are fewer then, until the next time
            while len(self._held) < _COUNT:
                self._held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
