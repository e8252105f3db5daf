"""Packages in virtual environments of their own, made once and kept in the user's cache."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

_WHOLE = "complete"


class UnreachableError(Exception):
    """pip cannot get at the packages from here; the message holds what it said."""


@dataclass(frozen=True)
class Recipe:
    """``steps``: the arguments of one ``pip install`` each; the first begins with a package's name."""

    name: str
    steps: tuple[tuple[str, ...], ...]

    @property
    def folder(self) -> Path:
        """Its place, which another recipe or another Python does not share."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        made_of = repr((self.steps, sys.version_info[:2], sysconfig.get_platform()))
        digest = blake2b(made_of.encode(), digest_size=6).hexdigest()
        return cache / "evaltower-tests" / f"{self.name}-{digest}"


def installed(recipe: Recipe) -> Path:
    """The environment's folder, made where it is not there; one that is half made is made again.

    Raises UnreachableError, and AssertionError where pip failed though the packages are in reach.
    """
    folder = recipe.folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        if not ((folder / _WHOLE).exists() and (folder / "bin" / "python").exists()):
            shutil.rmtree(folder, ignore_errors=True)
            _make(recipe, folder)
            (folder / _WHOLE).touch()
    return folder


@contextmanager
def locked(path: Path, how: int = fcntl.LOCK_EX) -> Iterator[int]:
    """Nobody else has the file locked, or, with LOCK_SH, nobody alone; the lock goes with the process."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(descriptor, how)
        yield descriptor
    finally:
        os.close(descriptor)


def _make(recipe: Recipe, folder: Path) -> None:
    made = _told(sys.executable, "-m", "venv", str(folder))
    assert made.returncode == 0, made.stdout
    pip = (str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input")
    for step in recipe.steps:
        done = _told(*pip, "install", "-q", *step)
        if done.returncode == 0:
            continue
        package = step[0].partition("==")[0]
        if _told(*pip, "index", "versions", package).returncode != 0:
            raise UnreachableError(f"pip cannot reach {package}: {done.stdout.strip()[-500:]}")
        raise AssertionError(f"pip install {' '.join(step)}:\n{done.stdout[-4000:]}")


def _told(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
