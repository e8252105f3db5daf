"""Append-only files of one JSON document a line."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from engine.store.disk import named
from engine.store.strict_json import encode

T = TypeVar("T")
log = logging.getLogger(__name__)


class LineAppender:
    """Appends lines to a file that only this process writes.

    A torn last line, of a writer that was killed or met a full disk, is closed off by a newline first, so
    that it costs itself and not the line after it. ``before``: called before each line, and what it raises is
    passed on.
    """

    def __init__(self, path: Path, before: Callable[[], object] | None = None) -> None:
        self._path = path
        self._before = before
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        size = os.fstat(self._fd).st_size
        self._torn = size > 0 and os.pread(self._fd, 1, size - 1) != b"\n"

    def append(self, value: Any, *, durable: bool = True) -> None:
        """Write one line, and fsync it where ``durable``. Raises OSError that names the file, which stays
        readable."""
        data = (b"\n" if self._torn else b"") + encode(value) + b"\n"
        if self._before is not None:
            self._before()
        self._torn = True
        try:
            while data:
                data = data[os.write(self._fd, data) :]
            self._torn = False
            if durable:
                os.fsync(self._fd)
        except OSError as error:
            raise named(error, self._path) from error

    def close(self) -> None:
        os.close(self._fd)


def read_lines(path: Path) -> Iterator[bytes]:
    """The file's whole lines, without their newline; a tail without one is left out. No file: no lines.

    Lines end at ``\\n`` alone: U+2028, U+0085 and form feeds are part of a text.
    """
    with suppress(FileNotFoundError), open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line[:-1]


def read_records(path: Path, record: type[T]) -> Iterator[T]:
    """Each line as a ``record``. A line that is none (torn, then closed off) is logged and passed over."""
    return (value for _, value in read_with_lines(path, record))


def read_with_lines(path: Path, record: type[T]) -> Iterator[tuple[bytes, T]]:
    """The same with the line itself before each."""
    decoder = msgspec.json.Decoder(record)
    for number, line in enumerate(read_lines(path), start=1):
        try:
            yield line, decoder.decode(line)
        except msgspec.MsgspecError as error:
            log.warning("%s line %d is passed over: %s", path, number, error)
