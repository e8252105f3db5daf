"""An episode's images, arrays and long texts: files of their own, each content once, written behind it."""

from __future__ import annotations

import io
import os
import re
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
from PIL import Image

from engine.store.disk import named

FOLDER = "assets"
PENDING_LIMIT = 64
"""Files that may wait for the disk, over all episodes of the process; beyond it, the run waits for them."""

_LONGEST_NAME = 80


class AssetWriter:
    """One thread that compresses and writes, with a bounded queue."""

    def __init__(self, limit: int = PENDING_LIMIT) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="assets")
        self._room = threading.BoundedSemaphore(limit)

    def submit(self, work: Callable[[], None]) -> Future[None]:
        """Do ``work`` in its turn; waits while the queue is full."""
        self._room.acquire()
        future = self._thread.submit(work)
        future.add_done_callback(lambda _: self._room.release())
        return future


WRITER = AssetWriter()
"""Shared by all episodes of the process."""


class Assets:
    """The files under ``assets/`` of one episode's folder, by content. ``before``: called before each write,
    and what it raises is passed on. ``strike`` takes out of a text what is not to be written."""

    def __init__(
        self,
        episode: Path,
        writer: AssetWriter = WRITER,
        before: Callable[[], object] | None = None,
        strike: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self._folder = episode / FOLDER
        self._writer = writer
        self._before = before
        self._strike = strike
        self._by_content: dict[tuple[str, bytes], str] = {}
        self._taken: set[str] = set()
        self._pending: deque[Future[None]] = deque()

    def image(self, content: bytes, name: str, image: numpy.ndarray[Any, Any]) -> str:
        """Where this image is, relative to the episode; ``content`` is its digest. (H,W), (H,W,3|4) uint8."""
        return self._put("png", content, name, _still(image), _png)

    def array(self, content: bytes, name: str, array: numpy.ndarray[Any, Any]) -> str:
        """Where this array is: an npz with the one entry ``array``."""
        return self._put("npz", content, name, _still(array), _npz)

    def text(self, content: bytes, name: str, text: str) -> str:
        """Where this text is, in UTF-8."""
        return self._put("txt", content, name, text, lambda value: self._strike(value.encode()))

    def check(self) -> None:
        """Raise what a finished write raised."""
        while self._pending and self._pending[0].done():
            self._pending.popleft().result()

    def wait(self) -> None:
        """Wait until everything is written; raises the first OSError."""
        pending, self._pending = list(self._pending), deque()
        failures = [failure for future in pending if (failure := future.exception()) is not None]
        if failures:
            raise failures[0]

    def _put(self, kind: str, content: bytes, name: str, value: Any, encode: Callable[[Any], bytes]) -> str:
        known = self._by_content.get((kind, content))
        if known is not None:
            return known
        if not self._taken:
            if self._before is not None:
                self._before()
            self._folder.mkdir(parents=True, exist_ok=True)
        file_name = self._unused(name, kind)
        path = self._folder / file_name
        self._pending.append(self._writer.submit(lambda: self._write(path, encode(value))))
        place = f"{FOLDER}/{file_name}"
        self._by_content[kind, content] = place
        return place

    def _write(self, path: Path, content: bytes) -> None:
        part = path.with_name(path.name + ".part")  # a reader never sees half a file
        if self._before is not None:
            self._before()
        try:
            part.write_bytes(content)
            os.replace(part, path)
        except OSError as error:
            raise named(error, path) from error

    def _unused(self, name: str, extension: str) -> str:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:_LONGEST_NAME]
        candidate, number = f"{stem}.{extension}", 1
        while candidate.casefold() in self._taken:
            number += 1
            candidate = f"{stem}_{number}.{extension}"
        self._taken.add(candidate.casefold())
        return candidate


def _still(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    # A node of this process may write into its array again before the thread has read it.
    return array.copy() if array.flags.writeable else array


def _png(image: numpy.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _npz(array: numpy.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    numpy.savez_compressed(buffer, array=array)
    return buffer.getvalue()
