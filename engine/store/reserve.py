"""``outputs/reserve``: room on the disk that is given up when it is full, for the last states of runs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from engine.store.atomic import temporary_beside

BYTES = 64 << 10
LEFT_OVER = 4
"""It is made where so many times its size would be free: what is nearly full keeps the rest for others."""


class Reserve:
    """The reserve of a root, shared by all who write there. Its methods raise nothing."""

    def __init__(self, root: Path) -> None:
        self.path = root / "outputs" / "reserve"

    def ensure(self) -> bool:
        """Have it there, made anew where there is room again; whether it is."""
        with suppress(OSError):
            return self._is_there() or self._make()
        return False

    def release(self) -> bool:
        """Give its room to others; whether there was any to give."""
        with suppress(OSError):
            self.path.unlink()
            return True
        return False

    def _is_there(self) -> bool:
        with suppress(FileNotFoundError):
            return self.path.stat().st_blocks * 512 >= BYTES
        return False

    def _make(self) -> bool:
        disk = os.statvfs(self.path.parent)
        if disk.f_bavail * disk.f_frsize < LEFT_OVER * BYTES:
            return False
        part = temporary_beside(self.path)
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, BYTES)
            finally:
                os.close(descriptor)
            part.replace(self.path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        return True
