"""Who uses a shared server: a file each, which counts only while the process that wrote it lives.

A run that was killed cannot say that it is over; by its lease the server finds out. And by the leases of
other roots its own backend finds out that it is not to be unloaded yet. Of a process on another node of a
cluster nobody can tell whether it lives: it touches its lease every few seconds, and one that was not touched
for ``STALE_SEC`` does not count.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from engine.store.atomic import write_json
from engine.store.process_identity import ProcessIdentity, identity, is_alive
from engine.store.server_folder import CLUSTER, ServerFolder, server_at

log = logging.getLogger(__name__)

TOUCH_SEC = 5.0
STALE_SEC = 60.0
_CLOCK = ".clock"


class Lease(msgspec.Struct, kw_only=True, frozen=True):
    """root: of the backend, or of the run, that uses the server. call_sec: what the run lets a call take; 0
    is no more than is usual. touched: it counts by its file's age, wherever its process is."""

    process: ProcessIdentity
    root: str
    call_sec: float = 0.0
    touched: bool = False


@lru_cache(maxsize=1)
def holder() -> str:
    """What this process is called as one that uses servers, on any machine. Asked for after any fork."""
    process = identity()
    return f"{process.pid}-{process.start_ticks}-{secrets.token_hex(4)}"


def take(folder: ServerFolder, root: Path, call_sec: float = 0.0, *, touched: bool = False) -> None:
    """Have it known that this process uses the server, until it ends or gives it back. Raises OSError."""
    folder.leases.mkdir(exist_ok=True)
    lease = Lease(process=identity(), root=str(root.resolve()), call_sec=call_sec, touched=touched)
    write_json(_of_this_process(folder), lease, durable=False)


def touch(folder: ServerFolder, root: Path, call_sec: float = 0.0) -> None:
    """Have it known that this process uses the server still, or again. Raises OSError."""
    try:
        os.utime(_of_this_process(folder))
    except FileNotFoundError:
        take(folder, root, call_sec, touched=True)


class Leases:
    """Those of this process on all shared servers among ``urls``, from now until :meth:`close`.

    In a thread of their own, since whoever is busy for a minute uses them still. One that cannot be told
    serves all the same.
    """

    def __init__(self, urls: Iterable[str], root: Path, call_sec: float) -> None:
        self._root = root
        self._call_sec = call_sec
        self._elsewhere: list[ServerFolder] = []
        self._over = threading.Event()
        for url in urls:
            if folder := server_at(url):
                self._elsewhere += [folder] if url.startswith(CLUSTER) else []
                self._take(folder, touched=url.startswith(CLUSTER))
        self._thread = threading.Thread(target=self._touch, name="leases", daemon=True)
        if self._elsewhere:
            self._thread.start()

    def close(self) -> None:
        """They are used no more. On this machine they go with the process."""
        self._over.set()
        if self._elsewhere:
            self._thread.join()
        for folder in self._elsewhere:
            with suppress(OSError):
                give_back(folder)

    def _touch(self) -> None:
        while not self._over.wait(TOUCH_SEC):
            for folder in self._elsewhere:
                try:
                    touch(folder, self._root, self._call_sec)
                except OSError as error:
                    log.warning("%s may not know that it is used from here: %s", folder.path, error)

    def _take(self, folder: ServerFolder, *, touched: bool) -> None:
        try:
            take(folder, self._root, self._call_sec, touched=touched)
        except OSError as error:
            log.warning("%s does not know that it is used from here: %s", folder.path, error)


def is_taken(folder: ServerFolder) -> bool:
    """Whether this process has a lease."""
    return _of_this_process(folder).exists()


def give_back(folder: ServerFolder) -> None:
    """It uses the server no more."""
    _of_this_process(folder).unlink(missing_ok=True)


def living(folder: ServerFolder) -> dict[str, Lease]:
    """Those that count, by what their processes are called."""
    return {path.stem: lease for path, lease, lives in _all(folder) if lives}


def drop_dead(folder: ServerFolder) -> set[str]:
    """Remove those that do not count any more; what their processes were called."""
    dead = [path for path, _, lives in _all(folder) if not lives]
    for path in dead:
        path.unlink(missing_ok=True)
    return {path.stem for path in dead}


def _of_this_process(folder: ServerFolder) -> Path:
    return folder.leases / f"{holder()}.json"


def _all(folder: ServerFolder) -> Iterator[tuple[Path, Lease, bool]]:
    """(Its file, the lease, whether it counts)."""
    found: list[tuple[Path, Lease, float]] = []
    with suppress(FileNotFoundError):
        for path in folder.leases.iterdir():
            if path.suffix == ".json" and not path.name.startswith("."):
                try:
                    with path.open("rb") as file:  # opened, a shared file system tells its age afresh
                        lease = msgspec.json.decode(file.read(), type=Lease)
                        found.append((path, lease, os.fstat(file.fileno()).st_mtime))
                except (OSError, msgspec.MsgspecError) as error:
                    log.warning("%s is left out: %s", path, error)
    now = _clock(folder) if any(lease.touched for _, lease, _ in found) else 0.0
    for path, lease, written in found:
        yield path, lease, now - written < STALE_SEC if lease.touched else is_alive(lease.process)


def _clock(folder: ServerFolder) -> float:
    """What time it is by the clock that the leases' files are dated by: those of machines differ."""
    try:
        probe = os.open(folder.leases / _CLOCK, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            os.utime(probe)
            return os.fstat(probe).st_mtime
        finally:
            os.close(probe)
    except OSError as error:
        log.warning("the clock of %s cannot be read: %s", folder.leases, error)
        return time.time()
