"""Which process is meant, proof against pid reuse. Nothing is ever signalled by bare pid."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec


class ProcessIdentity(msgspec.Struct, frozen=True):
    """A process for ever: pid and start time (clock ticks since boot), within a boot and a pid namespace."""

    pid: int
    start_ticks: int
    boot_id: str
    pid_ns: str
    host: str = ""


def identity(pid: int | None = None) -> ProcessIdentity:
    """The identity of a live process (None: of this one). ProcessLookupError where there is none."""
    pid = os.getpid() if pid is None else pid
    ticks = _start_ticks(pid)
    if ticks is None:
        raise ProcessLookupError(f"no live process {pid}")
    return ProcessIdentity(pid, ticks, _boot_id(), _pid_namespace(), socket.gethostname())


def is_alive(process: ProcessIdentity) -> bool:
    """Whether that very process runs and can be seen from here.

    False for a zombie, and for a process of another boot, host or pid namespace: what cannot be seen is not
    called alive.
    """
    return is_here(process) and _start_ticks(process.pid) == process.start_ticks


def may_live_elsewhere(process: ProcessIdentity) -> bool:
    """Whether that process may run where it cannot be seen from here: on another host, or in a container
    whose pids are others. What ran here before a restart of this host is gone.
    """
    restarted = process.host == socket.gethostname() and process.boot_id != _boot_id()
    return not is_here(process) and not restarted


def send_signal(process: ProcessIdentity, number: signal.Signals) -> bool:
    """Signal that very process; False where it is not alive."""
    with _pidfd(process) as descriptor:
        if descriptor is None:
            return False
        try:
            signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            return False
        return True


@contextmanager
def _pidfd(process: ProcessIdentity) -> Iterator[int | None]:
    # The pidfd comes first: from then on the pid cannot pass to a stranger between the check and the signal.
    try:
        descriptor = os.pidfd_open(process.pid) if is_here(process) else None
    except ProcessLookupError:
        descriptor = None
    try:
        yield descriptor if descriptor is not None and is_alive(process) else None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def is_here(process: ProcessIdentity) -> bool:
    """Whether it is, or was, a process of this boot and pid namespace: no other can be seen from here."""
    return process.boot_id == _boot_id() and process.pid_ns == _pid_namespace()


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _pid_namespace() -> str:
    return os.readlink("/proc/self/ns/pid")


def _start_ticks(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()  # the command's name may hold spaces and parentheses
    return None if fields[0] in (b"Z", b"X") else int(fields[19])
