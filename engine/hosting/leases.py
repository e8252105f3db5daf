"""Who uses a shared server: a file each, which counts only while the process that wrote it lives.

A run that was killed cannot say that it is over; by its lease the server finds out. And by the leases of
other roots its own backend finds out that it is not to be unloaded yet.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from engine.store.atomic import write_json
from engine.store.process_identity import ProcessIdentity, identity, is_alive
from engine.store.server_folder import ServerFolder, server_at

log = logging.getLogger(__name__)


class Lease(msgspec.Struct, kw_only=True, frozen=True):
    """root: of the backend, or of the run, that uses the server. call_sec: what the run lets a call take; 0
    is no more than is usual."""

    process: ProcessIdentity
    root: str
    call_sec: float = 0.0


@lru_cache(maxsize=1)
def holder() -> str:
    """What this process is called as one that uses servers. Asked for after any fork."""
    process = identity()
    return f"{process.pid}-{process.start_ticks}"


def take(folder: ServerFolder, root: Path, call_sec: float = 0.0) -> None:
    """Have it known that this process uses the server, until it ends or gives it back. Raises OSError."""
    folder.leases.mkdir(exist_ok=True)
    lease = Lease(process=identity(), root=str(root.resolve()), call_sec=call_sec)
    write_json(_of_this_process(folder), lease, durable=False)


def take_all(urls: Iterable[str], root: Path, call_sec: float) -> None:
    """The same of each shared server among those at ``urls``. One that cannot be told serves all the same."""
    for url in urls:
        if folder := server_at(url):
            try:
                take(folder, root, call_sec)
            except OSError as error:
                log.warning("%s does not know that it is used from here: %s", url, error)


def is_taken(folder: ServerFolder) -> bool:
    """Whether this process has a lease."""
    return _of_this_process(folder).exists()


def give_back(folder: ServerFolder) -> None:
    """It uses the server no more."""
    _of_this_process(folder).unlink(missing_ok=True)


def living(folder: ServerFolder) -> list[Lease]:
    """Those that count."""
    return [lease for _, lease in _all(folder) if is_alive(lease.process)]


def drop_dead(folder: ServerFolder) -> set[str]:
    """Remove those whose process is gone; what these were called."""
    dead = [path for path, lease in _all(folder) if not is_alive(lease.process)]
    for path in dead:
        path.unlink(missing_ok=True)
    return {path.stem for path in dead}


def _of_this_process(folder: ServerFolder) -> Path:
    return folder.leases / f"{holder()}.json"


def _all(folder: ServerFolder) -> Iterator[tuple[Path, Lease]]:
    with suppress(FileNotFoundError):
        for path in folder.leases.iterdir():
            if path.suffix == ".json" and not path.name.startswith("."):
                try:
                    yield path, msgspec.json.decode(path.read_bytes(), type=Lease)
                except (OSError, msgspec.MsgspecError) as error:
                    log.warning("%s is left out: %s", path, error)
