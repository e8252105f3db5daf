"""The processes of one host: find them all, weigh them, end them all. Linux.

Found by an environment variable that descendants inherit (whatever session or parent they moved to), and by
parentage (for those that dropped it). Ended by a pipe, the lifeline: the host has armed its read end so that
the kernel kills the host's process group when the write end is closed. The kernel holds on to the group
itself, not to its number, so that a reused pid is never hit, and our own death closes the pipe too.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import select
import signal
from collections.abc import Iterator
from contextlib import suppress

import psutil

log = logging.getLogger(__name__)

_MARK = "EVALTOWER_HOST"
_PF_EXITING = 0x4  # Linux, include/linux/sched.h
_GONE_WITHIN_SEC = 5.0
_LOOK_EVERY_SEC = 0.02
_MB = 1 << 20
_NO_LONGER_THERE = (psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError)


class ProcessTree:
    """``environment`` and ``lifeline`` go to the host; :meth:`root` is told its pid at once."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(8)
        self.environment = {_MARK: self._mark}
        self.lifeline, self._write_end = os.pipe()
        self._pid = 0
        self._pidfd = -1
        self._seen: set[psutil.Process] = set()

    def root(self, pid: int) -> None:
        self._pid = pid
        with suppress(ProcessLookupError):  # it has ended already, and was waited for
            self._pidfd = os.pidfd_open(pid)

    def running(self) -> bool:
        """Whether the host itself has not ended, and has not begun to.

        A process that ends closes its connections first: whoever sees one break may ask before the end.
        """
        if self._pidfd < 0:
            return False
        ended = select.poll()
        ended.register(self._pidfd, select.POLLIN)
        return not ended.poll(0) and not _is_exiting(self._pid)

    def living(self) -> set[psutil.Process]:
        """The host, while it runs, and everything that it started."""
        found = set(self._seen)
        for pid in _marked(f"{_MARK}={self._mark}".encode()):
            with suppress(*_NO_LONGER_THERE, OSError):
                found.add(psutil.Process(pid))
        if self.running():
            with suppress(*_NO_LONGER_THERE, OSError):
                host = psutil.Process(self._pid)
                found.update([host, *host.children(recursive=True)])
        self._seen = {process for process in found if _is_alive(process)}
        return self._seen

    def memory_mb(self) -> float:
        """Memory of all of them: proportional set size where it may be read, else resident set size."""
        return sum(_memory_bytes(process) for process in self.living()) / _MB

    def kill(self) -> None:
        """Send SIGKILL to the host and to its process group."""
        self.living()
        self._cut_lifeline()
        if self._pidfd >= 0:  # it may not have armed its lifeline yet
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def end(self) -> None:
        """Kill whatever is left, and return when it is gone. What resists is logged."""
        self.kill()
        deadline = asyncio.get_running_loop().time() + _GONE_WITHIN_SEC
        while left := self.living():
            if asyncio.get_running_loop().time() > deadline:
                log.warning("still there after SIGKILL: %s", sorted(process.pid for process in left))
                break
            for process in left:
                with suppress(*_NO_LONGER_THERE):
                    process.kill()
            await asyncio.sleep(_LOOK_EVERY_SEC)
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def _cut_lifeline(self) -> None:
        if self._write_end >= 0:
            os.close(self._write_end)  # first: the signal needs a read end that is still open
            os.close(self.lifeline)
            self._write_end = -1


def _marked(needle: bytes) -> Iterator[int]:
    try:
        names = os.listdir("/proc")
    except OSError as error:  # no file can be opened any more: closing the lifeline makes room
        log.warning("the processes of a host cannot be looked for: %s", error)
        return
    for name in names:
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as environ:
                if needle in environ.read():
                    yield int(name)


def _is_exiting(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            flags = stat.read().rpartition(b")")[2].split()[6]
    except (FileNotFoundError, ProcessLookupError):
        return True
    except OSError:  # what cannot be seen runs on, and is to be killed
        return False
    return bool(int(flags) & _PF_EXITING)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except _NO_LONGER_THERE:
        return False
    except OSError:  # no file can be opened any more
        return True


def _memory_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except _NO_LONGER_THERE:
        pass
    try:
        return int(process.memory_info().rss)
    except _NO_LONGER_THERE:
        return 0
