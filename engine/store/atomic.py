"""Files that are replaced whole: a reader never sees half of one, and a failed write leaves the old one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from engine.store.strict_json import encode_indented


def write_json(
    path: Path, value: Any, *, durable: bool = True, before: Callable[[], object] | None = None
) -> None:
    """Replace ``path`` by ``value`` as strict JSON. See :func:`write_bytes`."""
    write_bytes(path, encode_indented(value), durable=durable, before=before)


def write_bytes(
    path: Path,
    data: bytes,
    *,
    durable: bool = True,
    mode: int = 0o666,
    before: Callable[[], object] | None = None,
) -> None:
    """Replace ``path`` by ``data``. See :func:`replacing`."""
    with replacing(path, durable=durable, mode=mode, before=before) as file:
        file.write(data)


@contextmanager
def replacing(
    path: Path, *, durable: bool = True, mode: int = 0o666, before: Callable[[], object] | None = None
) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` at the block's end: temporary file in the same folder, fsync,
    rename, fsync of the folder.

    ``durable`` False leaves out both fsyncs: right for what is rewritten several times a second and means
    nothing after a power cut. ``mode``: of the file, as far as the umask lets. ``before``: called as the last
    thing before the rename, and what it raises is passed on, as is what the block raises. Raises OSError that
    names ``path`` (a full disk among them); ``path`` is then as it was, and no temporary file is left.
    """
    temporary = temporary_beside(path)
    try:
        with open(temporary, "w+b", opener=partial(os.open, mode=mode)) as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if before is not None:
            before()
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    if durable:
        fsync_folder(path.parent)


def temporary_beside(path: Path) -> Path:
    """A new name in the folder of ``path``, for what is to take its place: no other process has it, whatever
    machine it is on."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")


def fsync_folder(folder: Path) -> None:
    """Make the folder's entries (new names, renames) survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
