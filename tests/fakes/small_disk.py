"""A small disk of a test's own: a tmpfs, where mounting is permitted."""

from __future__ import annotations

import os
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, kib: int, inodes: int | None = None) -> Iterator[Path]:
    """``kib`` KiB at ``place``. Skips the test, loudly, where it may not mount."""
    place.mkdir(parents=True, exist_ok=True)
    options = f"size={kib}k" + (f",nr_inodes={inodes}" if inodes is not None else "")
    mounted = _run("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place))
    if mounted.returncode:
        told = f"NOT TESTED, a small disk cannot be mounted: {mounted.stderr.strip()}"
        warnings.warn(told, stacklevel=2)
        pytest.skip(told)
    try:
        yield place
    finally:
        unmounted = _run("umount", "-l", str(place))
        assert unmounted.returncode == 0, unmounted.stderr


def fill(disk: Path, leave_kib: int) -> Path:
    """Fill a disk up to ``leave_kib`` KiB; the file that does it."""
    file = disk / "fill"
    with open(file, "wb") as out:
        while True:
            there = os.statvfs(disk)
            size = there.f_bavail * there.f_frsize - (leave_kib << 10)
            try:
                os.posix_fallocate(out.fileno(), 0, max(size, 1))
                return file
            except OSError:  # others write here meanwhile
                if size <= 1:
                    return file


def remount(place: Path, options: str) -> None:
    done = _run("mount", "-o", f"remount,{options}", str(place))
    assert done.returncode == 0, done.stderr


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
