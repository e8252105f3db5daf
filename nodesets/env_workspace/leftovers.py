"""End a command with everything that it started, whatever session or parent that moved to. Linux."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import suppress
from typing import Iterator, NamedTuple

MARK = "EVALTOWER_COMMAND"
"""Environment variable that what a command starts inherits."""

_PR_SET_CHILD_SUBREAPER = 36
_GONE_WITHIN_SEC = 5.0
_LOOK_EVERY_SEC = 0.01


class _Seen(NamedTuple):
    state: str
    parent: int
    group: int
    session: int


def adopt_orphans() -> bool:
    """Become the parent of whatever our descendants leave behind; False where this system cannot do that."""
    try:
        return ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False


def end_all(leader: int, mark: str, adopting: bool) -> None:
    """Kill the command of this process group and all that came of it; returns when that is gone.

    ``leader`` has not been waited for, so that its number is still its own. ``adopting``: orphans come to
    us, and nothing else of ours runs, so that every descendant of this process is the command's.
    """
    deadline = time.monotonic() + _GONE_WITHIN_SEC
    while time.monotonic() < deadline:
        living = _living(leader, mark, adopting)
        if not living:
            return
        for pid in living:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_EVERY_SEC)


def _living(leader: int, mark: str, adopting: bool) -> set[int]:
    processes = dict(_processes())
    needle = f"{MARK}={mark}".encode()
    roots = {pid for pid, seen in processes.items() if leader in (pid, seen.group, seen.session)}
    roots.update(pid for pid in processes if _has(pid, needle))
    found = _with_descendants(roots, processes)
    if adopting:
        _reap_adopted(leader, processes)
        found |= _with_descendants({os.getpid()}, processes) - {os.getpid()}
    return {pid for pid in found if processes[pid].state not in "ZX"}


def _with_descendants(roots: set[int], processes: dict[int, _Seen]) -> set[int]:
    found = set(roots)
    while True:
        below = {pid for pid, seen in processes.items() if seen.parent in found and pid not in found}
        if not below:
            return found
        found |= below


def _reap_adopted(leader: int, processes: dict[int, _Seen]) -> None:
    for pid, seen in processes.items():
        if seen.parent == os.getpid() and seen.state == "Z" and pid != leader:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _processes() -> Iterator[tuple[int, _Seen]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
                state, parent, group, session = stat.read().rpartition(b")")[2].split()[:4]
                yield int(name), _Seen(state.decode(), int(parent), int(group), int(session))


def _has(pid: int, needle: bytes) -> bool:
    with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as environ:
        return needle in environ.read().split(b"\0")
    return False
