"""Output to a terminal that may stall or vanish: whoever writes never waits for it."""

from __future__ import annotations

import contextlib
import os
import select
import termios
import threading
import time
from collections import deque
from collections.abc import Callable

# What may wait for a slow terminal: about two full screens. It bounds how late a key press is answered.
MAX_PENDING_BYTES = 64 * 1024
_PIECE = 16 * 1024
_POLL_SEC = 0.05
_CANCEL_SEQUENCE = b"\x18"  # CAN: ends an escape sequence that was cut short


class FrameWriter:
    """Writes to a terminal in a thread of its own.

    A *frame* is an update of the screen: one that finds too much waiting is dropped, whole, and so is each
    that follows (they are differences to what the terminal never got), until what waits has drained; then
    ``on_drained`` is called, for a full repaint. What is not a frame (modes, the clipboard) is never dropped.
    When the terminal is gone, ``on_gone`` is called, once, and everything is dropped.
    Both are called from the writer's thread. Any thread may call any method.
    """

    def __init__(self, fd: int, on_drained: Callable[[], None], on_gone: Callable[[], None]) -> None:
        self._fd = _own_description(fd)
        self._on_drained = on_drained
        self._on_gone = on_gone
        self._queue: deque[tuple[bytes, bool]] = deque()
        self._pending = 0
        self._changed = threading.Condition()
        self._deadline: float | None = None
        self._discarded = False
        self._thread = threading.Thread(target=self._run, name="terminal-output", daemon=True)
        self.dropping = False
        self.gone = False
        self.bytes_written = 0
        self.frames_dropped = 0

    def start(self) -> None:
        self._thread.start()

    def write(self, text: str, *, frame: bool) -> None:
        """Queue ``text``, or drop it. Never waits, never raises."""
        data = text.encode("utf-8", "replace")
        with self._changed:
            if frame and (self.dropping or (self._pending and self._pending + len(data) > MAX_PENDING_BYTES)):
                self.dropping = True
                self.frames_dropped += 1
                return
            if self.gone or self._deadline is not None:
                return
            self._queue.append((data, frame))
            self._pending += len(data)
            self._changed.notify()

    @property
    def waiting(self) -> int:
        """Bytes that the terminal has not taken yet."""
        return self._pending

    def stop(self, patience: float = 0.5) -> None:
        """Write what waits, frames left out, and close. At most ``patience`` seconds and a little more."""
        with self._changed:
            self._queue = deque(part for part in self._queue if not part[1])
            self._deadline = time.monotonic() + patience
            self._changed.notify()
        self._thread.join(patience * 2)

    def _run(self) -> None:
        try:
            while (part := self._next()) is not None:
                self._send(*part)
                if self._drained():
                    self._on_drained()
        except OSError:
            self._lose()
        with contextlib.suppress(OSError):
            os.close(self._fd)

    def _next(self) -> tuple[bytes, bool] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._deadline is not None)
            return self._queue.popleft() if self._queue else None

    def _send(self, data: bytes, frame: bool) -> None:
        rest = memoryview(data)
        while rest:
            try:
                sent = os.write(self._fd, rest[:_PIECE])
            except BlockingIOError:
                if self._is_late() and self._discard_unread() and frame:
                    break
                self._wait_for_room()
                continue
            rest = rest[sent:]
            with self._changed:
                self._pending -= sent
                self.bytes_written += sent
        with self._changed:
            self._pending -= len(rest)

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _discard_unread(self) -> bool:
        """Discard, once, what the terminal has not read, so that the end of the full screen gets through."""
        if self._discarded:
            raise TimeoutError("the terminal takes nothing")
        self._discarded = True
        termios.tcflush(self._fd, termios.TCOFLUSH)
        with contextlib.suppress(BlockingIOError):
            os.write(self._fd, _CANCEL_SEQUENCE)
        return True

    def _wait_for_room(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        poll.poll(_POLL_SEC * 1000)

    def _drained(self) -> bool:
        with self._changed:
            if self._queue or not self.dropping or self._deadline is not None:
                return False
            self.dropping = False
            return True

    def _lose(self) -> None:
        with self._changed:
            self.gone = True
            self._queue.clear()
            self._pending = 0
            leaving = self._deadline is not None
        if not leaving:
            self._on_gone()


def _own_description(fd: int) -> int:
    """A descriptor of the same terminal that does not block, without making the shell's not block either."""
    try:
        return os.open(os.ttyname(fd), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # a terminal of another user, as after su: writes block, in the writer's thread
        return os.dup(fd)
