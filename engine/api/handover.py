"""Handing a live backend to a successor process. Nothing is let go of in between: neither lock nor sockets.

The two talk over a socket pair: the successor says ``w`` (it could begin at once), the old backend ``g`` (it
has written its last), the successor ``r`` (it serves). The end of the old process counts as ``g``.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.api.sockets import Sockets
from engine.control.reports import ControlError
from engine.store.importable import importable

WARM, GO, READY = b"w", b"g", b"r"
WAIT_SEC = 60.0

LOG = "backend.log"


@dataclass(frozen=True)
class Descriptors:
    """Open files that pass from one backend to the next."""

    lock: int
    tcp: int
    unix: int
    talk: int

    @classmethod
    def parse(cls, text: str) -> Descriptors:
        """ValueError where it is not what :meth:`__str__` gives."""
        return cls(*(int(number) for number in text.split(",")))

    def __str__(self) -> str:
        return f"{self.lock},{self.tcp},{self.unix},{self.talk}"


class Successor:
    """The process that is to go on. It is warm when this has been made."""

    def __init__(self, root: Path, lock: int, sockets: Sockets, options: Sequence[str]) -> None:
        """Start it in a session of its own. ``options``: of its ``--serve``. Raises ControlError."""
        self._talk, theirs = socket.socketpair()
        passed = Descriptors(lock, sockets.tcp.fileno(), sockets.unix.fileno(), theirs.fileno())
        command = [sys.executable, "-m", "engine.main", "--root", str(root), "--serve", *options]
        try:
            self._process = _spawn(root, [*command, "--take-over", str(passed)], passed)
        except OSError as error:
            self._talk.close()
            raise ControlError(f"no successor can be started: {error}") from error
        finally:
            theirs.close()
        self._expect(WARM)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def go(self) -> None:
        """Let it begin, and wait until it serves. Raises ControlError."""
        try:
            self._talk.sendall(GO)
        except OSError:
            self._fail()
        self._expect(READY)
        self._talk.close()

    def _expect(self, word: bytes) -> None:
        self._talk.settimeout(WAIT_SEC)
        try:
            said = self._talk.recv(1)
        except OSError:
            said = b""
        if said != word:
            self._fail()

    def abandon(self) -> None:
        """End it: the old backend stays, or nobody goes on."""
        self._process.kill()
        self._process.wait()
        self._talk.close()

    def _fail(self) -> None:
        self.abandon()
        raise ControlError(f"the successor did not begin to serve; outputs/system/{LOG} says more")


def told_to_go(talk: socket.socket) -> None:
    """The successor's side: say that it could begin, and wait until it may."""
    talk.sendall(WARM)
    talk.recv(1)  # nothing at all where the old backend was killed meanwhile: then it is ours, too


def _spawn(root: Path, command: Sequence[str], passed: Descriptors) -> subprocess.Popen[bytes]:
    log = root / "outputs" / "system" / LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(passed.lock, passed.tcp, passed.unix, passed.talk),
            start_new_session=True,
            env=importable(os.environ),
        )
