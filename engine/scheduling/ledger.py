"""What the backends of one host tell each other: one file each, on the host's shared memory.

Backends of other roots and users are not ours to command, so each writes down what its runs are yet to take,
and counts what the others wrote. Reading, deciding and writing happen in one turn under a host-wide lock. An
entry counts only while the process that wrote it lives and belongs to the file's owner.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from engine.scheduling.accounts import Neighbours, Waiting
from engine.store.atomic import write_json
from engine.store.process_identity import ProcessIdentity, identity, is_alive

log = logging.getLogger(__name__)

FOLDER = Path("/dev/shm/evaltower")
VARIABLE = "EVALTOWER_LEDGER"
"""The environment variable that names another folder: for tests, and where /dev/shm is not the host's."""

LONGEST_ENTRY_BYTES = 1 << 20
_LOOK_EVERY_SEC = 0.02
_OPEN_TO_ALL = stat.S_ISVTX | 0o777


class LedgerBusyError(Exception):
    """The ledger cannot be used now, so that the needs of other backends are not known. Says why."""


class Entry(msgspec.Struct, kw_only=True, frozen=True):
    """What one backend tells the others.

    pending: by pool, MB that its tenants are yet to take. exclusive, occupied: cards by UUID. cold: a run of
    which nothing is known yet. waits_since: since when its longest waiting one waits for such runs, as of
    ``told_at``; CLOCK_BOOTTIME seconds. servers: the shared servers that it has loaded, by key, and their
    folders; other backends of the same user may use them. owners: pids at the top of its runs and servers,
    and whose.
    """

    process: ProcessIdentity
    root: str
    pending: dict[str, float] = {}
    exclusive: list[str] = []
    occupied: list[str] = []
    cold: str | None = None
    waits_since: float | None = None
    told_at: float = 0.0
    servers: dict[str, str] = {}
    owners: dict[int, str] = {}


class Turn:
    """The time under the lock. ``others``: what the other backends hold. ``lent``: servers that this user's
    other backends have loaded, by key, and their folders."""

    def __init__(self, own: Path, others: Neighbours, lent: Mapping[str, str]) -> None:
        self._own = own
        self.others = others
        self.lent = lent

    def publish(self, entry: Entry) -> None:
        """Tell the others, before anything is started. LedgerBusyError where it cannot be written."""
        try:
            write_json(self._own, entry, durable=False)
            self._own.chmod(0o644)
        except OSError as error:
            raise LedgerBusyError(f"{self._own} cannot be written: {error.strerror}") from error


class Ledger:
    """This backend's place in the ledger."""

    def __init__(
        self,
        folder: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        process: ProcessIdentity | None = None,
    ) -> None:
        """``folder``: None is the host's. ``process``: the backend's, by whose life the entry counts; None is
        this one."""
        folder = folder or host_folder()
        self._folder = folder
        self._clock = clock
        self._process = process or identity()
        self._own = folder / f"{os.getuid()}-{self._process.pid}-{self._process.start_ticks}.json"

    @property
    def process(self) -> ProcessIdentity:
        return self._process

    @contextmanager
    def turn(self, wait_sec: float = 0.1) -> Iterator[Turn]:
        """Have the ledger alone, after at most ``wait_sec``. LedgerBusyError where that cannot be."""
        lock = self._open_lock()
        try:
            self._lock(lock, wait_sec)
            yield Turn(self._own, *self._read_others())
        finally:
            os.close(lock)

    def close(self) -> None:
        """Leave it. An entry that stays, of a backend that was killed, counts for nothing."""
        self._own.unlink(missing_ok=True)

    def _open_lock(self) -> int:
        try:
            self._make_folder()
            path = self._folder / "lock"
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
            # Without O_CREAT: kernels refuse that for another user's file in a folder that all may write.
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise LedgerBusyError(f"the ledger {self._folder} cannot be used: {error.strerror}") from error

    def _make_folder(self) -> None:
        with suppress(FileExistsError):
            self._folder.mkdir()
            self._folder.chmod(_OPEN_TO_ALL)
        mode = self._folder.lstat().st_mode
        if not stat.S_ISDIR(mode) or mode & _OPEN_TO_ALL != _OPEN_TO_ALL:
            raise OSError(errno.EPERM, "it must be a folder of mode 1777; whoever owns it can remove it")

    def _lock(self, lock: int, wait_sec: float) -> None:
        deadline = self._clock() + wait_sec
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if self._clock() >= deadline:
                    raise LedgerBusyError(
                        f"another backend of this host has held {self._folder}/lock for {wait_sec:g} s"
                    ) from None
                time.sleep(_LOOK_EVERY_SEC)

    def _read_others(self) -> tuple[Neighbours, dict[str, str]]:
        pending: dict[str, float] = {}
        exclusive: set[str] = set()
        occupied: set[str] = set()
        cold: str | None = None
        waiting: list[Waiting] = []
        lent: dict[str, str] = {}
        processes: dict[int, str] = {}
        for path in self._folder.glob("*.json"):
            if path == self._own or (read := self._read(path)) is None:
                continue
            entry, owner = read
            if owner == os.getuid():
                lent |= entry.servers
            for pool, mb in entry.pending.items():
                pending[pool] = pending.get(pool, 0.0) + max(0.0, mb)
            exclusive.update(entry.exclusive)
            occupied.update(entry.occupied)
            processes[entry.process.pid] = f"the backend of {entry.root}"
            processes |= {pid: f"{whose} of {entry.root}" for pid, whose in entry.owners.items()}
            cold = cold or (f"{entry.cold} of {entry.root}" if entry.cold else None)
            if entry.waits_since is not None:
                waiting.append(Waiting(entry.root, entry.waits_since, entry.told_at))
        found = Neighbours(
            pending, frozenset(exclusive), frozenset(occupied), cold, tuple(waiting), processes
        )
        return found, lent

    def _read(self, path: Path) -> tuple[Entry, int] | None:
        """An entry that counts, and whose it is. One of ours whose backend is dead is removed."""
        try:
            data, owner = _read_regular(path)
            entry = msgspec.json.decode(data, type=Entry)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            log.warning("the ledger's %s is left out: %s", path.name, error)
            return None
        if is_alive(entry.process) and _user_of(entry.process.pid) == owner:
            return entry, owner
        if owner == os.getuid():
            path.unlink(missing_ok=True)
        return None


def host_folder() -> Path:
    """Where the backends of this host meet."""
    return Path(os.environ.get(VARIABLE) or FOLDER)


def own_backends() -> list[Entry]:
    """What this user's live backends have written, of whichever root."""
    found = []
    for path in sorted(host_folder().glob(f"{os.getuid()}-*.json")):
        try:
            data, owner = _read_regular(path)
            entry = msgspec.json.decode(data, type=Entry)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            continue  # theirs to tell, when they read it
        if owner == os.getuid() == _user_of(entry.process.pid) and is_alive(entry.process):
            found.append(entry)
    return found


def _read_regular(path: Path) -> tuple[bytes, int]:
    """Content and owner of a plain file of bounded size: anyone may put anything into the folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST_ENTRY_BYTES:
            raise OSError(errno.EINVAL, "not a plain file of an entry's size")
        return os.read(descriptor, LONGEST_ENTRY_BYTES), found.st_uid
    finally:
        os.close(descriptor)


def _user_of(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None
