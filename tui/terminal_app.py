"""The app that every screen of ours runs in: a Textual app that is safe on any terminal and with any text."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from textual._compositor import CompositorUpdate
from textual.app import App
from textual.driver import Driver
from textual.filter import LineFilter, NoColor
from textual.geometry import Size
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.signal import Signal

from engine.store.preferences import ClipboardMode
from engine.terminal_images import ANSWER_SEC, Ability, Asked, Way, hidden_by, way_of
from engine.text import visible
from tui.changed_cells import ChangedCells, Shown
from tui.clipboard import Clipboard
from tui.driver import TerminalDriver
from tui.images.stage import Stage
from tui.sanitize import SafeText, visible_lines
from tui.state_file import state_folder
from tui.stderr_guard import StderrGuard

HUNG_UP, TERMINATED = 128 + signal.SIGHUP, 128 + signal.SIGTERM
_LEAVE_SEC = 2.0


@dataclass(frozen=True)
class ImageChoice:
    """way: how images are drawn in pixels; None: by characters, and ``why``, where pixels were asked for.
    cell: its pixels."""

    way: Way | None = None
    why: str = ""
    cell: tuple[int, int] | None = None


def terminal_problem(environ: Mapping[str, str] = os.environ) -> str | None:
    """Why no screen can be shown here, in one line; None if it can."""
    if not os.isatty(0) or not (os.isatty(1) or os.isatty(2)):
        return "no terminal to show the screen on: see `evaltower watch --plain`, `evaltower runs` and --help"
    if environ.get("TERM", "") in ("", "dumb"):
        return "TERM is dumb or not set: set it to your terminal's, or use `evaltower watch --plain`"
    return None


class TerminalApp(App[int]):
    """Subclasses compose screens. What they need not care about:

    output never blocks, text never steers the terminal, SIGHUP, SIGTERM and a vanished terminal leave by
    :meth:`leave`, and a crash is told in the log instead of on the terminal.
    """

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, guard: StderrGuard | None = None, *, clipboard: ClipboardMode = "auto") -> None:
        self.guard = guard
        self.terminal_fd = guard.terminal_fd if guard else 2
        self._safe_text = SafeText()
        self._shown = Shown()
        super().__init__()
        self.stage = Stage(self._shown, self)
        self.images = ImageChoice()
        self.images_changed: Signal[ImageChoice] = Signal(self, "images changed")
        self._images_asked: Asked | None = None
        self._asked_at = Size()
        self.clipboard_out = Clipboard(self._write, state_folder() / "copied", mode=clipboard)
        self._copies: set[asyncio.Task[None]] = set()
        self._watchdog: threading.Timer | None = None

    def get_driver_class(self) -> type[Driver]:
        return TerminalDriver

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Under NO_COLOR not one colour is sent, where Textual would send shades of grey."""
        return [self._safe_text, *([NoColor()] if self.no_color else super().get_line_filters())]

    @property
    def terminal(self) -> TerminalDriver | None:
        """The driver, for the link's figures; None where there is no terminal (tests)."""
        return self._driver if isinstance(self._driver, TerminalDriver) else None

    def repaint(self) -> None:
        """Everything anew: after missed frames, SIGCONT, ctrl+l."""
        self._shown.forget()
        self.stage.forget()
        if self.screen_stack:
            self.screen.refresh()
            self.screen.query("*").refresh()

    def terminal_gone(self) -> None:
        self.leave(HUNG_UP)

    def ask_for_images(self, asked: Asked) -> None:
        """Draw images in pixels, if the terminal can. ``images`` says so within ANSWER_SEC, by
        ``images_changed``."""
        if hidden := hidden_by():
            self._choose_images(ImageChoice(why=hidden))
        elif self.terminal is not None:
            self._images_asked, self._asked_at = asked, self.size
            self.terminal.ask_for_images()
            self.set_timer(ANSWER_SEC, self._stop_waiting)

    def terminal_answered(self, ability: Ability) -> None:
        if self._images_asked is not None:
            way, why = way_of(self._images_asked, ability)
            self._choose_images(ImageChoice(way, why, ability.cell))

    def leaving_screen(self) -> None:
        self.stage.forget()

    def leave(self, code: int) -> None:
        """End the app with this exit code; by :meth:`abandon`, if it does not end within 2 seconds."""
        if self._watchdog is None:
            self.before_leaving(code)
            self._watchdog = threading.Timer(_LEAVE_SEC, self.abandon, [code])
            self._watchdog.daemon = True
            if self.terminal is not None:  # without one (tests) the process is not ours to end
                self._watchdog.start()
            self.exit(code)

    def before_leaving(self, code: int) -> None:
        """For subclasses: state that must be on disk, quickly. 0: by a key; HUNG_UP; TERMINATED."""

    def abandon(self, code: int) -> None:
        """In a thread, after the app failed to end: whoever embeds a backend hands over here first."""
        if self.terminal is not None:
            self.terminal.restore()
        os._exit(code)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """A toast; unlike Textual's, of text that may be anything."""
        shown = "\n".join(visible_lines(message))
        super().notify(shown, title=visible(title), severity=severity, timeout=timeout, markup=markup)

    def copy_to_clipboard(self, text: str) -> None:
        """Also what Textual's own widgets call. Says how it went in a toast."""
        task = asyncio.get_running_loop().create_task(self._copy(text))
        self._copies.add(task)
        task.add_done_callback(self._copies.discard)

    async def run_in_terminal(self, command: Sequence[str], cwd: Path | None = None) -> int:
        """Give the terminal to an editor or a pager until it ends; its exit code. The loop goes on meanwhile.

        Raises OSError if it cannot start.
        """
        interrupt = signal.signal(signal.SIGINT, lambda *_: None)  # ctrl+c is the program's
        try:
            with self.batch_update(), self.suspend():
                code = await self._run_child(command, cwd)
        finally:
            signal.signal(signal.SIGINT, interrupt)
            self.repaint()
        if isinstance(code, OSError):
            raise code
        return code

    async def _run_child(self, command: Sequence[str], cwd: Path | None) -> int | OSError:
        """An error is returned: raised, it would leave the app suspended."""
        out = self.terminal_fd
        try:
            child = await asyncio.create_subprocess_exec(*command, cwd=cwd, stdin=0, stdout=out, stderr=out)
        except OSError as error:
            return error
        return await child.wait()

    async def run_async(self, **options: Any) -> int | None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, self.leave, HUNG_UP)
        loop.add_signal_handler(signal.SIGTERM, self.leave, TERMINATED)
        try:
            return await super().run_async(**options)
        finally:
            loop.remove_signal_handler(signal.SIGHUP)
            loop.remove_signal_handler(signal.SIGTERM)
            if self._watchdog is not None:
                self._watchdog.cancel()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Textual's, but only what differs from what stands there is sent."""
        if isinstance(renderable, CompositorUpdate):
            renderable = ChangedCells(renderable, self._shown)
        super()._display(screen, renderable)
        self.stage.update()

    def on_resize(self) -> None:
        self._shown.forget()
        self.stage.forget()
        if self.images.way is not None and self.size != self._asked_at and self.terminal is not None:
            self._asked_at = self.size
            self.terminal.ask_for_images()  # its font may have another size now

    def send(self, data: str) -> None:
        """To the terminal: no frame, whole, and never dropped."""
        if self.terminal is not None:
            self.terminal.send(data)

    def waiting(self) -> int | None:
        """Bytes that the terminal has not taken; None where it takes none."""
        return self.terminal.waiting() if self.terminal is not None else None

    def _stop_waiting(self) -> None:
        if self.images == ImageChoice() and self._images_asked is not None:
            self._choose_images(ImageChoice(None, way_of(self._images_asked, Ability())[1]))

    def _choose_images(self, choice: ImageChoice) -> None:
        if choice != self.images:
            self.images = choice
            self.images_changed.publish(choice)

    async def _copy(self, text: str) -> None:
        copied = await self.clipboard_out.copy(text)
        self.notify(str(copied), severity="error" if copied.how == "none" else "information")

    def _write(self, sequence: str) -> None:
        if self._driver is not None:
            self._driver.write(sequence)


def run_screen(make_app: Callable[[StderrGuard], TerminalApp], log: Path) -> int:
    """Run an app on this terminal; its exit code. ``log`` takes what is printed meanwhile, and a crash.

    Where there can be no screen it says so on stderr, and the code is 2.
    """
    if problem := terminal_problem():
        sys.stderr.write(f"{problem}\n")
        return 2
    with StderrGuard(log) as guard:
        app = make_app(guard)
        code = app.run()
    if app.return_code == 1 and code is None:
        sys.stderr.write(f"the screen ended by an error of its own: see {visible(str(log))}\n")
        return 1
    return code or 0
