"""Who uses a shared server: a file each, which counts only while the process that wrote it lives.

A run that was killed cannot say that it is over; by its lease the server finds out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from engine.store.atomic import write_json
from engine.store.process_identity import ProcessIdentity, identity, is_alive
from engine.store.server_folder import ServerFolder

log = logging.getLogger(__name__)


class Lease(msgspec.Struct, kw_only=True, frozen=True):
    """run: empty for a backend, which holds the server for runs to come."""

    process: ProcessIdentity
    run: str = ""


def take(folder: ServerFolder, run: str = "") -> Path:
    """Have it known that this process uses the server, until it ends or removes the file. Raises OSError."""
    process = identity()
    path = folder.leases / f"{process.pid}-{process.start_ticks}.json"
    folder.leases.mkdir(exist_ok=True)
    write_json(path, Lease(process=process, run=run), durable=False)
    return path


def living(folder: ServerFolder) -> list[Lease]:
    """Those that count."""
    return [lease for _, lease in _all(folder) if is_alive(lease.process)]


def drop_dead(folder: ServerFolder) -> set[str]:
    """Remove those whose process is gone; the runs among them that no process goes on with."""
    dead = [(path, lease) for path, lease in _all(folder) if not is_alive(lease.process)]
    for path, _ in dead:
        path.unlink(missing_ok=True)
    return {lease.run for _, lease in dead if lease.run} - {lease.run for lease in living(folder)}


def _all(folder: ServerFolder) -> Iterator[tuple[Path, Lease]]:
    with suppress(FileNotFoundError):
        for path in folder.leases.iterdir():
            if path.suffix == ".json" and not path.name.startswith("."):
                try:
                    yield path, msgspec.json.decode(path.read_bytes(), type=Lease)
                except (OSError, msgspec.MsgspecError) as error:
                    log.warning("%s is left out: %s", path, error)
