"""The process above everything that one attempt starts: it ends all of it, and writes down how it ended.

    python -S -E -P shim.py ATTEMPT BACKEND GRACE ORPHAN_GRACE -- COMMAND …

ATTEMPT is the attempt's folder, BACKEND the path of ``backend.json``, empty to follow nobody. It claims the
attempt with ``shim.json``, or ends if that is taken. Whatever its command leaves behind, in whatever session,
comes to be its child, since it is their subreaper. SIGTERM is passed on to the command, and all that is left
is killed GRACE seconds later; a second SIGTERM does so at once. When the backend is gone, it goes on for
ORPHAN_GRACE seconds, and follows the next one that ``backend.json`` names until then. ``exit.json`` is
written when nothing is left. In the process table it is ``evt-shim``, and ``evt-stopping`` once it was told.

Standard library only, and little of it: one of these sits above each run, and must outlive everything.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 15, 36
_TOLD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_NOTICED = (*_TOLD, signal.SIGCHLD)
_LOOK_EVERY_SEC = 0.25
_LONGEST_PAUSE_SEC = 0.5
_EXIT_BYTES = 512
_TAKEN = 3

_prctl = ctypes.CDLL(None).prctl


def main(arguments: Sequence[str]) -> int:
    folder, backend, grace, orphan_grace, _, *command = arguments
    _prctl(_PR_SET_NAME, b"evt-shim")
    wakeups = Wakeups()
    room = ExitFile(folder)
    if not claim(folder):
        room.discard()
        return _TAKEN
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    tree = Tree(command)
    follower = Follower(backend, float(orphan_grace), wakeups)
    stopped_by = watch(tree, follower, wakeups, float(grace))
    killed = tree.clear(wakeups)
    rc, ended_by = tree.how_it_ended()
    room.write(
        rc=rc,
        signal=ended_by,
        cancelled=stopped_by == "request",
        stopped_by=stopped_by,
        stray_killed=killed,
        ended_at=now_iso(),
    )
    return rc if rc is not None else 128 + (ended_by or 0)


def watch(tree: Tree, follower: Follower, wakeups: Wakeups, grace: float) -> str:
    """Until the command has ended, or its time to do so is over. Who wanted its end: see exit.json."""
    stopped_by, kill_at = "", float("inf")
    while tree.reap() and tree.status is None:
        now = time.monotonic()
        if not stopped_by:
            stopped_by = "request" if wakeups.told else "orphaned" if follower.is_orphaned(now) else ""
            if stopped_by:
                _prctl(_PR_SET_NAME, b"evt-stopping")
                kill_at = now + grace
                tree.ask()
        if now >= kill_at or wakeups.told > (stopped_by == "request"):
            break
        wakeups.wait(min(kill_at - now, follower.look_again_in()))
    return stopped_by


class Wakeups:
    """Signals, as something to wait for together with a process. told: how often we were asked to stop."""

    def __init__(self) -> None:
        self.told = 0
        self._signals, written = os.pipe()
        os.set_blocking(self._signals, False)
        os.set_blocking(written, False)
        self._poll = select.poll()
        self._poll.register(self._signals, select.POLLIN)
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        for number in _NOTICED:
            signal.signal(number, self._notice)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())  # a spawner may have blocked some

    def _notice(self, number: int, _: object) -> None:
        self.told += number in _TOLD

    def watch(self, pidfd: int) -> None:
        self._poll.register(pidfd, select.POLLIN)

    def unwatch(self, pidfd: int) -> None:
        self._poll.unregister(pidfd)

    def wait(self, seconds: float) -> None:
        """Until a signal, the end of a watched process, or so many seconds."""
        self._poll.poll(None if seconds == float("inf") else seconds * 1000)
        with suppress(BlockingIOError):
            os.read(self._signals, 512)


class Tree:
    """The command, and everything that it started. status: the command's, as of waitpid, once it ended."""

    def __init__(self, command: Sequence[str]) -> None:
        self.status: int | None = None
        self._root = _start(command)

    def reap(self) -> bool:
        """Take in whoever has ended; whether anything is left: without a child, we have no descendant."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._root:
                    self.status = status
        except ChildProcessError:
            return False

    def ask(self) -> None:
        """SIGTERM to the command; until we reap it nobody else can have its pid."""
        os.kill(self._root, signal.SIGTERM)

    def clear(self, wakeups: Wakeups) -> int:
        """Kill what is left until nothing is; how many that were, the command left out."""
        killed: set[tuple[int, int]] = set()
        pause = 0.005
        while self.reap():
            killed.update(who for who in _descendants() if _kill(*who))
            wakeups.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SEC)
        return len({pid for pid, _ in killed} - {self._root})

    def how_it_ended(self) -> tuple[int | None, int | None]:
        """Exit code, or None and the signal."""
        code = os.waitstatus_to_exitcode(self.status or 0)
        return (code, None) if code >= 0 else (None, -code)


class Follower:
    """The backend that ``path`` names; it may be another one later."""

    def __init__(self, path: str, orphan_grace: float, wakeups: Wakeups) -> None:
        self._path = path
        self._orphan_grace = orphan_grace
        self._wakeups = wakeups
        self._pidfd = -1
        self._lost_at: float | None = None

    def is_orphaned(self, now: float) -> bool:
        """Whether there has been no backend for too long."""
        if not self._path:
            return False
        if self._pidfd >= 0 and select.select([self._pidfd], [], [], 0)[0]:
            self._wakeups.unwatch(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        if self._pidfd < 0:
            self._pidfd = self._find()
            if self._pidfd >= 0:
                self._wakeups.watch(self._pidfd)
                self._lost_at = None
            elif self._lost_at is None:
                self._lost_at = now
        return self._lost_at is not None and now - self._lost_at >= self._orphan_grace

    def look_again_in(self) -> float:
        return float("inf") if self._lost_at is None else _LOOK_EVERY_SEC

    def _find(self) -> int:
        """A pidfd of the successor that is named, or of the backend itself; -1 where neither lives."""
        try:
            with open(self._path, "rb") as file:
                record: dict[str, Any] = json.load(file)
            for process in (record.get("successor"), record["process"]):
                pidfd = _open(process) if process else -1
                if pidfd >= 0:
                    return pidfd
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        return -1


class ExitFile:
    """exit.json. Its room is taken at the start, so that a full disk cannot hide how everything ended."""

    def __init__(self, folder: str) -> None:
        self._path = f"{folder}/exit.json"
        self._temporary = _temporary(self._path)
        self._fd = os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        os.write(self._fd, b" " * _EXIT_BYTES)

    def write(self, **fields: Any) -> None:
        os.pwrite(self._fd, json.dumps(fields).encode().ljust(_EXIT_BYTES), 0)
        os.fsync(self._fd)
        os.replace(self._temporary, self._path)

    def discard(self) -> None:
        os.unlink(self._temporary)


def claim(folder: str) -> bool:
    """Make shim.json, whole or not at all; False where somebody has."""
    temporary = _temporary(f"{folder}/shim.json")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump({"process": _identity()}, file)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, f"{folder}/shim.json")
    except FileExistsError:
        return False
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
    return True


def _temporary(path: str) -> str:
    """A name beside it that no process has, whatever machine it is on."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.{os.urandom(8).hex()}.tmp"


def now_iso() -> str:
    zone = time.strftime("%z")
    return time.strftime(f"%Y-%m-%dT%H:%M:%S{zone[:3]}:{zone[3:]}")


def _start(command: Sequence[str]) -> int:
    """The command in a session of its own, which dies with us. No signal is lost between fork and exec."""
    shim = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, _NOTICED)
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        return child
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() == shim:
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                if number in _NOTICED or signal.getsignal(number) == signal.SIG_IGN:
                    signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.execvp(command[0], list(command))
    except OSError as error:
        os.write(2, f"{command[0]} cannot be started: {error}\n".encode())
    finally:
        os._exit(127)


def _identity() -> dict[str, Any]:
    """As :class:`engine.store.process_identity.ProcessIdentity`."""
    pid = os.getpid()
    running = _stat(pid)
    return {
        "pid": pid,
        "start_ticks": running[1] if running else 0,
        "boot_id": _boot_id(),
        "pid_ns": os.readlink("/proc/self/ns/pid"),
        "host": os.uname().nodename,
    }


def _boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def _open(process: dict[str, Any]) -> int:
    """A pidfd of that very process; -1 where it does not run, or cannot be seen from here."""
    if process["boot_id"] != _boot_id() or process["pid_ns"] != os.readlink("/proc/self/ns/pid"):
        return -1
    return _pidfd(process["pid"], process["start_ticks"])


def _pidfd(pid: int, start_ticks: int) -> int:
    """The pidfd comes first: from then on the pid cannot pass to a stranger unseen."""
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return -1
    running = _stat(pid)
    if running is not None and running[1] == start_ticks:
        return pidfd
    os.close(pidfd)
    return -1


def _kill(pid: int, start_ticks: int) -> bool:
    """SIGKILL to that very process."""
    pidfd = _pidfd(pid, start_ticks)
    if pidfd < 0:
        return False
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except OSError:  # it has just ended, or became another user's: then we wait for it
        return False
    finally:
        os.close(pidfd)
    return True


def _descendants() -> list[tuple[int, int]]:
    """(pid, start ticks) of everything below us that has not ended, parents first."""
    below: dict[int, list[tuple[int, int]]] = {}
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and (running := _stat(int(name))):
                below.setdefault(running[0], []).append((int(name), running[1]))
    found = list(below.get(os.getpid(), ()))
    for pid, _ in found:
        found.extend(below.get(pid, ()))
    return found


def _stat(pid: int) -> tuple[int, int] | None:
    """(parent, start ticks); None where it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # its name may hold spaces and parentheses
    except OSError:
        return None
    ended = not fields or (fields[0] in b"ZX" and int(fields[17]) < 2)  # other threads outlive the first one
    return None if ended else (int(fields[1]), int(fields[19]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
