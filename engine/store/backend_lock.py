"""One backend a root: who holds ``outputs/backend.lock``, and what it says of itself in ``backend.json``.

The lock is a flock, which the kernel lets go of when its last holder ends, however that was. The file is
never removed: whoever removes it lets a second backend in, so its inode is looked at again and again.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec

from engine.store.atomic import write_bytes
from engine.store.process_identity import ProcessIdentity, is_alive
from engine.store.rundir import RunDirError, read_json
from engine.store.strict_json import encode_indented

_OWN = 0o600


class BackendRecord(msgspec.Struct, kw_only=True):
    """``outputs/backend.json``: the backend that is, or the last that was. url, socket: empty where it does
    not listen. successor: named before it hands over. ended_at: it ended on purpose.
    """

    process: ProcessIdentity
    root: str
    version: str
    started_at: str
    url: str = ""
    socket: str = ""
    successor: ProcessIdentity | None = None
    handed_over_at: str | None = None
    ended_at: str | None = None

    @property
    def is_alive(self) -> bool:
        """Whether it, or the successor that it named, can be seen alive from here, and has not ended: the
        process of one may go on with something else."""
        if self.ended_at is not None:
            return False
        return is_alive(self.process) or (self.successor is not None and is_alive(self.successor))


class BackendAliveError(Exception):
    """Another backend has the root. ``report``: what it says of itself; None before it has said anything."""

    def __init__(self, root: Path, report: BackendRecord | None) -> None:
        self.report = report
        who = f"process {report.process.pid} on {report.process.host}" if report else "another process"
        super().__init__(f"{root} has a backend already: {who}")


class BackendLock:
    """The lock of a root, held. Closing it, or the end of the last process that has it, lets it go."""

    def __init__(self, root: Path, fd: int) -> None:
        self.root = root
        self.fd = fd

    @classmethod
    def acquire(cls, root: Path) -> BackendLock:
        """Take it. BackendAliveError where another has it; OSError where it cannot be made."""
        path = lock_path(root)
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            lock = cls(root, os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWN))
            try:
                fcntl.flock(lock.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                lock.close()
                if isinstance(error, BlockingIOError):
                    raise BackendAliveError(root, read_backend(root)) from None
                raise
            if lock.still_ours():
                return lock
            lock.close()  # it was unlinked between our opening and locking it: the new file counts

    @classmethod
    def adopt(cls, root: Path, fd: int) -> BackendLock:
        """Go on with a lock that the backend before us handed over as an open file. BackendAliveError where
        that is not the root's lock, or not held through this file."""
        lock = cls(root, fd)
        os.set_inheritable(fd, False)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackendAliveError(root, read_backend(root)) from None
        if not lock.still_ours():
            raise BackendAliveError(root, read_backend(root))
        return lock

    def still_ours(self) -> bool:
        """Whether the file that is locked is still the one that others would lock."""
        held = os.fstat(self.fd)
        try:
            there = os.stat(lock_path(self.root))
        except OSError:
            return False
        return (held.st_dev, held.st_ino) == (there.st_dev, there.st_ino)

    def close(self) -> None:
        os.close(self.fd)


def lock_path(root: Path) -> Path:
    return root / "outputs" / "backend.lock"


def record_path(root: Path) -> Path:
    return root / "outputs" / "backend.json"


def read_backend(root: Path) -> BackendRecord | None:
    """What the root's last backend said of itself; None where none ever did, or it cannot be read."""
    try:
        return read_json(record_path(root), BackendRecord)
    except (RunDirError, OSError):
        return None


def live_backend(root: Path) -> BackendRecord | None:
    """The backend that can be seen alive from here, or None."""
    record = read_backend(root)
    return record if record is not None and record.is_alive else None


def write_backend(root: Path, record: BackendRecord) -> None:
    """Replace ``backend.json``. Raises OSError."""
    write_bytes(record_path(root), encode_indented(record), mode=_OWN)
