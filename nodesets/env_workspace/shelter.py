"""Where this process keeps its episode's folder. Removed when it ends, or after a kill by the next one."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "evaltower-workspace-"
_LOCK = "lock"


class Shelter:
    """A folder of our own below the system's for temporary files, held by a lock that ends with us."""

    def __init__(self) -> None:
        _sweep(Path(tempfile.gettempdir()))
        # Under a name that no sweep looks at, until it is locked.
        hidden = Path(os.path.realpath(tempfile.mkdtemp(prefix="." + _PREFIX)))
        self._lock = os.open(str(hidden / _LOCK), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = hidden.rename(hidden.with_name(hidden.name[1:]))

    def close(self) -> None:
        remove(self.path)
        os.close(self._lock)


def remove(folder: Path) -> None:
    """With all that is in it, whatever permissions a case has given to its folders."""

    def unlock(function: object, path: str, error: object) -> None:
        with suppress(OSError):
            for locked in (os.path.dirname(path), path):
                if not os.path.islink(locked):
                    os.chmod(locked, 0o700)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    shutil.rmtree(str(folder), onerror=unlock)


def _sweep(folder: Path) -> None:
    """Remove what processes of ours that were killed have left there."""
    for left in folder.glob(_PREFIX + "*"):
        lock = _taken_over(left / _LOCK)
        if lock is not None:
            remove(left)
            os.close(lock)


def _taken_over(file: Path) -> int | None:
    """Its descriptor, locked, where its owner is us and its holder is gone."""
    try:
        descriptor = os.open(str(file), os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_uid == os.getuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None
