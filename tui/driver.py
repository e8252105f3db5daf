"""The terminal, for a program that must go on when it stalls or vanishes (field notes: the terminal, §0)."""

from __future__ import annotations

import os
import selectors
import sys
import termios
from codecs import getincrementaldecoder
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from engine.terminal_images import QUESTION, Ability, Answers, measured
from tui.frame_writer import FrameWriter

if TYPE_CHECKING:
    from textual.app import App

_READ_BYTES = 4096
_SELECT_SEC = 0.1
_SYNC_BEGIN, _SYNC_END = "\x1b[?2026h", "\x1b[?2026l"
_MODES_OFF = "".join(f"\x1b[?{mode}l" for mode in (1000, 1003, 1006, 1015, 1004, 2004, 2048))
_LEAVE_SCREEN = f"{_MODES_OFF}\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h"
_KEPT = ("\x1b[?", "\x1b[>", "\x1b[<", "\x1b]", "\x1bP", "\x07")


class Host(Protocol):
    """What the driver asks of its app. All methods are called on the app's loop."""

    terminal_fd: int

    def repaint(self) -> None:
        """Paint the whole screen: the terminal missed frames."""

    def terminal_gone(self) -> None:
        """Nobody sees the screen any more: leave."""

    def terminal_answered(self, ability: Ability) -> None:
        """It can draw these images. Only where :meth:`TerminalDriver.ask_for_images` was called."""

    def leaving_screen(self) -> None:
        """The terminal is about to be given back: take from it what is not text."""


class TerminalDriver(LinuxDriver):
    """Textual's driver for Linux, with an output that never blocks and an input that knows its end."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        self._host = cast(Host, app)
        self._writer: FrameWriter | None = None
        self._update: list[str] | None = None
        self._answers: Answers | None = None
        self._told_gone = False
        super().__init__(app, debug=debug, mouse=mouse, size=size)

    @property
    def writer(self) -> FrameWriter | None:
        """The link as it is: bytes_written, frames_dropped, dropping. None while suspended."""
        return self._writer

    # LinuxDriver starts application mode with a writer of its own make; this puts ours in its place.
    @property  # type: ignore[override]
    def _writer_thread(self) -> FrameWriter | None:
        return self._writer

    @_writer_thread.setter
    def _writer_thread(self, made: object) -> None:
        self._writer = None
        if made is not None:
            self._writer = FrameWriter(self._host.terminal_fd, self._drained, self._gone)

    def write(self, data: str) -> None:
        """A synchronised update is one frame, and so is any other piece of a screen; the rest is kept."""
        if data == _SYNC_BEGIN:
            self._update = [data]
        elif data == _SYNC_END and self._update is not None:
            whole, self._update = "".join([*self._update, data]), None
            self._send(whole, frame=True)
        elif data.startswith(_KEPT):
            self._send(data, frame=False)
        elif self._update is not None:
            self._update.append(data)
        else:
            self._send(data, frame=True)

    def send(self, data: str) -> None:
        """What is no frame: whole, and never dropped."""
        self._send(data, frame=False)

    def waiting(self) -> int | None:
        """Bytes that the terminal has not taken; None while it takes none of ours."""
        return self._writer.waiting if self._writer is not None else None

    def ask_for_images(self) -> None:
        """Whether it draws images is told to the host, once it answers."""
        self._answers = Answers()
        self.send(QUESTION)

    def stop_application_mode(self) -> None:
        self._host.leaving_screen()
        super().stop_application_mode()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.stop()
            self._writer = None

    def restore(self) -> None:
        """The terminal as it was before the screen; for a process that ends without ending its app."""
        if self._writer is not None:
            self._writer.write(_LEAVE_SCREEN, frame=False)
            self._writer.stop()
        if self.attrs_before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)

    def set_mouse(self, on: bool) -> None:
        """Whether the screen gets the mouse; if not, the terminal selects text with it."""
        if on:
            self._mouse = True
            self._enable_mouse_support()
        else:
            self._disable_mouse_support()
            self._mouse = False

    def run_input_thread(self) -> None:
        """Dispatch what is typed until told to stop or the terminal ends."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(_SELECT_SEC):
                    data = _read(self.fileno)
                    if not data:
                        self._gone()
                        return
                    typed = self._take_answers(decode(data))
                else:
                    typed = self._answers.release() if self._answers is not None else ""
                for event in parser.feed(typed) if typed else ():
                    self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)
        with suppress(EOFError, ParseError):
            for _ in parser.feed(""):
                pass

    def _take_answers(self, read: str) -> str:
        """What is left of it: what was typed."""
        answers = self._answers
        if answers is None:
            return read
        before, left = answers.ability, answers.take(read)
        if answers.ability.complete and answers.ability != before:
            ability = measured(answers.ability, self._host.terminal_fd)
            self._on_loop(partial(self._host.terminal_answered, ability))
        return left

    def _send(self, data: str, *, frame: bool) -> None:
        if self._writer is not None:
            self._writer.write(data, frame=frame)

    def _drained(self) -> None:
        self._on_loop(self._host.repaint)

    def _gone(self) -> None:
        if not self._told_gone:
            self._told_gone = True
            self._on_loop(self._host.terminal_gone)

    def _on_loop(self, call: Any) -> None:
        with suppress(RuntimeError):  # the loop has closed: the app is over
            self._loop.call_soon_threadsafe(call)

    def _get_terminal_size(self) -> tuple[int, int]:
        for fd in (self._host.terminal_fd, sys.__stdin__.fileno() if sys.__stdin__ else 0):
            try:
                width, height = os.get_terminal_size(fd)
            except OSError:
                continue
            if width and height:
                return width, height
        return 80, 24


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _READ_BYTES)
    except OSError:  # EIO: the terminal hung up
        return b""
