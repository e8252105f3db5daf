"""Records that must not be lost: a file that cannot be understood is moved out of the way, never replaced."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TypeVar

import msgspec

from engine.store.atomic import fsync_folder
from engine.store.rundir import RunDirError, read_json

T = TypeVar("T", bound=msgspec.Struct)
log = logging.getLogger(__name__)


def read_or_set_aside(path: Path, record: type[T]) -> tuple[T | None, Path | None]:
    """The file as a ``record``, or None; and where its content lies now, if it could not be understood.

    Raises OSError where it cannot be read or moved: then it stays as it is.
    """
    if not path.exists():
        return None, None
    try:
        return read_json(path, record), None
    except RunDirError as error:
        aside = _free_name(path)
        path.rename(aside)
        fsync_folder(path.parent)
        log.error("%s; it is kept as %s", error, aside.name)
        return None, aside


def _free_name(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.unreadable-{number}")).exists():
        number += 1
    return aside
