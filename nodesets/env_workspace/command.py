"""One command: in a session of its own, under a time limit, its output kept to the last so many bytes."""

from __future__ import annotations

import os
import secrets
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Callable, Mapping, Sequence

from .leftovers import MARK, end_all

GRACE_SEC = 3.0
"""What a command gets after SIGTERM at its time limit: an agent hands over its last spans then."""

_LOOK_EVERY_SEC = 0.02
_DRAIN_SEC = 1.0
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Finished:
    """``exit_code``: as a shell says it, 128 + n for signal n. Of a longer stdout or stderr the end."""

    exit_code: int
    stdout: str
    stderr: str
    timed_out: bool

    def told(self, limit: int = 2000) -> str:
        """What it said last, for a message: of stderr, else of stdout."""
        return (self.stderr.strip() or self.stdout.strip())[-limit:]


def run(
    argv: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    timeout_sec: float,
    keep_bytes: int,
    adopting: bool = False,
) -> Finished:
    """Run it to its end. Whatever it left running is gone when this returns.

    ``adopting``: see :func:`leftovers.end_all`. Raises OSError where it cannot be started.
    """
    mark = secrets.token_hex(8)
    process = subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=str(cwd),
        env={**environment, MARK: mark},
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr, selectors.DefaultSelector() as selector:
        tails = [_Tail(selector, pipe, keep_bytes) for pipe in (process.stdout, process.stderr)]
        try:
            timed_out = not _listen(selector, lambda: _has_ended(process.pid), timeout_sec)
            if timed_out:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                _listen(selector, lambda: _has_ended(process.pid), GRACE_SEC)
        finally:
            end_all(process.pid, mark, adopting)
            code = process.wait()
        _listen(selector, lambda: not selector.get_map(), _DRAIN_SEC)
    out, err = (tail.text() for tail in tails)
    return Finished(code if code >= 0 else 128 - code, out, err, timed_out)


class _Tail:
    """The last ``keep`` bytes of a pipe."""

    def __init__(self, selector: selectors.BaseSelector, pipe: IO[bytes], keep: int) -> None:
        os.set_blocking(pipe.fileno(), False)
        selector.register(pipe, selectors.EVENT_READ, self)
        self._keep = keep
        self._kept = bytearray()

    def add(self, chunk: bytes) -> None:
        self._kept += chunk
        if len(self._kept) > 2 * self._keep + _CHUNK:
            del self._kept[: -self._keep]

    def text(self) -> str:
        return bytes(self._kept[-self._keep :]).decode("utf-8", "replace")


def _listen(selector: selectors.BaseSelector, over: Callable[[], bool], seconds: float) -> bool:
    """Take in what comes until it is ``over``; False where it is not within so many seconds."""
    deadline = time.monotonic() + seconds
    while not over():
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        if not selector.get_map():
            time.sleep(min(left, _LOOK_EVERY_SEC))
            continue
        for key, _ in selector.select(min(left, _LOOK_EVERY_SEC)):
            chunk = os.read(key.fd, _CHUNK)
            if chunk:
                key.data.add(chunk)
            else:
                selector.unregister(key.fileobj)
    return True


def _has_ended(pid: int) -> bool:
    """Without waiting for it: as long as nobody does, its number is given to no other process."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
