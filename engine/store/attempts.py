"""The attempts at running something: a run, or a shared server. Each has a folder, ``attempts/1`` and on.

Who makes ``shim.json`` owns the attempt: the shim, which then starts its command, or, with a void record, a
backend that must know for certain that this attempt never begins. Only one of them can.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Literal, TypeVar

import msgspec

from engine.store.atomic import fsync_folder, temporary_beside
from engine.store.process_identity import ProcessIdentity
from engine.store.rundir import RunDirError, read_json
from engine.store.strict_json import encode_indented

MARK = "EVALTOWER_ATTEMPT"
"""The environment variable by which an attempt's processes are known: ``<run or server>/<n>/<token>``."""

LOGS = ("stdout.log", "stderr.log")

T = TypeVar("T")


class ShimRecord(msgspec.Struct, frozen=True, kw_only=True):
    """shim.json. process: the shim. void: the attempt was given up before any process of it began."""

    process: ProcessIdentity | None = None
    void: bool = False


class ExitRecord(msgspec.Struct, frozen=True, kw_only=True):
    """exit.json: how the command ended, written when its whole process tree is gone.

    rc: its exit code, None where ``signal`` ended it. stopped_by: who wanted its end: ``request``,
    ``orphaned`` (no backend lived), or nobody. cancelled: by request. stray_killed: how many processes
    outlived the command, and were killed.
    """

    rc: int | None
    signal: int | None = None
    cancelled: bool = False
    stopped_by: Literal["request", "orphaned", ""] = ""
    stray_killed: int = 0
    ended_at: str = ""

    @property
    def signal_name(self) -> str:
        """``SIGKILL (9)``, or the number of one that has no name; empty where there was none."""
        if self.signal is None:
            return ""
        with suppress(ValueError):
            return f"{Signals(self.signal).name} ({self.signal})"
        return str(self.signal)


@dataclass(frozen=True)
class Attempt:
    """One attempt's folder. ``read_*`` raise OSError, but not for an absent file."""

    path: Path

    @classmethod
    def of(cls, folder: Path, number: int) -> Attempt:
        """Attempt ``number``, from 1, at what has ``folder``."""
        return cls(folder / "attempts" / str(number))

    @classmethod
    def latest(cls, folder: Path) -> Attempt | None:
        """The last attempt that there is."""
        try:
            numbers = [int(name) for name in os.listdir(folder / "attempts") if name.isdigit()]
        except FileNotFoundError:
            return None
        return cls.of(folder, max(numbers)) if numbers else None

    @property
    def number(self) -> int:
        return int(self.path.name)

    @property
    def folder(self) -> Path:
        """The folder of what this is an attempt at."""
        return self.path.parents[1]

    @property
    def stderr(self) -> Path:
        return self.path / LOGS[1]

    def lay_out(self) -> None:
        """Make the folder with its two logs, and link these one level up in place of an earlier attempt's."""
        self.path.mkdir(parents=True, exist_ok=True)
        for name in LOGS:
            log, link = self.path / name, self.folder / f".{name}.link"
            log.touch()
            link.unlink(missing_ok=True)
            link.symlink_to(log.relative_to(self.folder))
            os.replace(link, self.folder / name)
        fsync_folder(self.path)

    def read_shim(self) -> ShimRecord | None:
        """Who owns the attempt; None while nobody does. One that cannot be read was torn by a power cut, and
        says nothing but that it has begun."""
        return _read(self.path / "shim.json", ShimRecord, ShimRecord())

    def read_exit(self) -> ExitRecord | None:
        """How it ended; None before its process tree is empty, and for ever where the shim was killed."""
        return _read(self.path / "exit.json", ExitRecord, None)

    def void(self) -> bool:
        """Take the attempt, so that no shim ever starts it; False where a shim was quicker, or it is void
        already."""
        self.path.mkdir(parents=True, exist_ok=True)
        temporary = temporary_beside(self.path / "shim.json")
        try:
            temporary.write_bytes(encode_indented(ShimRecord(void=True)))
            os.link(temporary, self.path / "shim.json")
        except FileExistsError:
            return False
        finally:
            temporary.unlink(missing_ok=True)
        fsync_folder(self.path)
        return True


def _read(path: Path, record: type[T], broken: T | None) -> T | None:
    if not path.exists():
        return None
    try:
        return read_json(path, record)
    except RunDirError:
        return broken
