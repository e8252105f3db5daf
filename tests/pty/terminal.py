"""A terminal for tests: a child on a pty of its own, whose reader can be slow, stop, or hang up."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pyte

DEADLINE_SEC = 20.0
_BECOME = "fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
_UNPRINTED = re.compile(rb"\x1b\[[<>]\d*u|\x1b[_P].*?\x1b\\", re.DOTALL)  # pyte would print it
_CUT_SHORT = re.compile(rb"\x1b(?:\[[<>]\d*|[_P].*)?\Z", re.DOTALL)


def wait_until(condition: Callable[[], object], what: str, seconds: float = DEADLINE_SEC) -> None:
    """Poll ``condition`` until it is true; fail the test after ``seconds``."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds:g} s"
        time.sleep(0.01)


class Terminal:
    """Runs ``command`` in a session of its own, with the pty as its controlling terminal.

    hup: what the child does at SIGHUP when it starts, by ``signal.SIG_DFL`` or ``signal.SIG_IGN``. answers:
    to what it is asked; a question is taken to come whole.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: dict[str, str],
        *,
        size: tuple[int, int] = (80, 24),
        hup: signal.Handlers = signal.SIG_DFL,
        answers: Mapping[bytes, bytes] | None = None,
    ) -> None:
        self.output = bytearray()
        self._answers = dict(answers or {})
        self._held = b""
        self._stalled = threading.Event()
        self._over = threading.Event()
        self._master, slave = os.openpty()
        self.resize(*size)
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        handler = f"signal.signal(signal.SIGHUP, signal.Handlers({int(hup)}))"
        code = f"import fcntl, os, signal, sys, termios; {handler}; {_BECOME}"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**_outside(), "TERM": "xterm-256color", "COLORTERM": "truecolor", **env},
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._reader.join()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()

    def keys(self, text: str) -> None:
        os.write(self._master, text.encode())

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def be(self, width: int, height: int) -> None:
        """Show this many columns and lines from now on, as the window has after :meth:`resize`."""
        self._screen.resize(height, width)

    def stall(self) -> None:
        """Read nothing more, until :meth:`go_on`."""
        self._stalled.set()

    def go_on(self) -> None:
        self._stalled.clear()

    def hang_up(self) -> None:
        """Close the terminal, as when the connection drops."""
        self._over.set()
        self._reader.join()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def lines(self) -> list[str]:
        """What a person would see now."""
        return list(self._screen.display)

    def shows(self, text: str) -> bool:
        return any(text in line for line in self.lines())

    def wait_for(self, text: str, seconds: float = DEADLINE_SEC) -> None:
        try:
            wait_until(lambda: self.shows(text), f"{text!r} on the screen", seconds)
        except AssertionError as failure:
            raise AssertionError(f"{failure}; it shows:\n" + "\n".join(self.lines())) from None

    def wait_end(self, seconds: float = DEADLINE_SEC) -> int:
        return self.process.wait(seconds)

    def _read(self) -> None:
        heard = select.poll()
        heard.register(self._master, select.POLLIN)
        while not self._over.is_set():
            if self._stalled.is_set():
                self._stalled_pause()
            elif heard.poll(20):
                try:
                    data = os.read(self._master, 65536)
                except OSError:
                    return
                if not data:
                    return
                self.output += data
                self._answer(data)
                self._show(data)

    def _answer(self, data: bytes) -> None:
        for question, answer in self._answers.items():
            os.write(self._master, answer * data.count(question))

    def _show(self, data: bytes) -> None:
        shown = _UNPRINTED.sub(b"", self._held + data)
        cut = _CUT_SHORT.search(shown)
        self._held = cut[0] if cut else b""
        self._stream.feed(shown.removesuffix(self._held))

    def _stalled_pause(self) -> None:
        while self._stalled.is_set() and not self._over.is_set():
            time.sleep(0.01)


def program(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", module, *arguments]


def _outside() -> dict[str, str]:
    """The environment, without the size of whatever terminal the tests run in."""
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}


def record_env(folder: Path) -> dict[str, str]:
    """An environment whose state, and the ticks that the program records, lie under ``folder``."""
    return {
        "XDG_STATE_HOME": str(folder / "state"),
        "TICKS": str(folder / "ticks"),
        "TEXTUAL_DISABLE_KITTY_KEY": "1",
        "TMUX": "",
    }
