"""The attempts at a shared server, on this machine or on a cluster: their folders, and how they ended."""

from __future__ import annotations

import logging
import os
import shutil

from engine.store.attempts import Attempt
from engine.store.rundir import RunDirError
from engine.store.server_folder import GaveUp, ServerFolder, ServerRecord

log = logging.getLogger(__name__)

KEPT_ATTEMPTS = 5
"""Attempts whose logs stay, the last one among them."""
TAIL_BYTES = 1 << 14


def read_record(folder: ServerFolder) -> ServerRecord | None:
    """One that cannot be read is none: the server is started anew."""
    try:
        return folder.read_record()
    except RunDirError as error:
        log.warning("%s", error)
        return None


def attempt_of(folder: ServerFolder, record: ServerRecord) -> Attempt:
    """The one that counts."""
    return Attempt(folder.attempt(record.attempt))


def mark_of(record: ServerRecord) -> str:
    """By which its processes are known."""
    return f"{record.key}/{record.attempt}/{record.token}"


def next_attempt(folder: ServerFolder) -> int:
    """A number that no attempt had."""
    last = Attempt.latest(folder.path)
    return last.number + 1 if last else 1


def prune(folder: ServerFolder, last: int) -> None:
    """Old attempts go."""
    for path in (folder.path / "attempts").iterdir():
        if path.name.isdigit() and int(path.name) <= last - KEPT_ATTEMPTS:
            shutil.rmtree(path, ignore_errors=True)


def read_end(folder: ServerFolder, record: ServerRecord) -> GaveUp | None:
    """Its own word of why it ended, if it left one."""
    try:
        return folder.read_end(record.attempt)
    except RunDirError as error:
        return GaveUp(why=str(error), at="")


def how_it_ended(attempt: Attempt) -> str:
    """Of one that was ended by a signal, or failed, and said nothing."""
    how = attempt.read_exit()
    if how is None:
        return "it was killed, with all of its processes"
    words = f"exit code {how.rc}" if how.signal is None else f"signal {how.signal_name}"
    return f"{words}{_last_line(attempt)}"


def _last_line(attempt: Attempt) -> str:
    """``: `` and the last line that its own process said, where it said one."""
    try:
        with attempt.stderr.open("rb") as log_file:
            log_file.seek(max(0, log_file.seek(0, os.SEEK_END) - TAIL_BYTES))
            text = log_file.read().decode("utf-8", "replace")
    except OSError as error:
        return f": {error}"
    return "".join(f": {line.strip()}" for line in text.strip().splitlines()[-1:])
