"""A program under test: a screen that repaints itself all the time, on the loop that an engine ticks on."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from tui.state_file import state_folder
from tui.terminal_app import TerminalApp, run_screen

TICK_SEC = 0.02


class Noise(Widget):
    frame = 0

    def on_mount(self) -> None:
        self.set_interval(1 / 20, self._next)

    def _next(self) -> None:
        self.frame += 1
        self.refresh()

    def render_line(self, y: int) -> Strip:
        if y == 0:
            return Strip(
                [
                    Segment(
                        f"frame {self.frame:06} of {self.size.width}x{self.size.height}".ljust(
                            self.size.width
                        )
                    )
                ]
            )
        cells = [
            Segment("#", Style(color=f"#{(x * 40 + y + self.frame) % 0xFFFFFF:06x}"))
            for x in range(self.size.width)
        ]
        return Strip(cells)


class BusyApp(TerminalApp):
    CSS = "Noise { height: 1fr; } #typed { height: 1; }"
    BINDINGS = [
        ("q", "leave_now", "leave"),
        ("e", "edit", "run a program"),
        ("c", "copy", "copy"),
        ("p", "noise", "print"),
        ("x", "crash", "crash"),
        ("t", "type", "type"),
        ("m", "mouse_off", "mouse off"),
        ("g", "hang", "hang"),
    ]

    def compose(self) -> ComposeResult:
        yield Noise()
        yield Static("nobody typed", id="typed")

    def on_mount(self) -> None:
        self._ticks = asyncio.get_running_loop().create_task(self._tick())

    async def _tick(self) -> None:
        with open(os.environ["TICKS"], "a", buffering=1) as file:
            while True:
                file.write(f"{time.monotonic()}\n")
                await asyncio.sleep(TICK_SEC)

    def before_leaving(self, code: int) -> None:
        Path(os.environ["TICKS"] + ".left").write_text(str(code))

    def action_leave_now(self) -> None:
        self.leave(0)

    async def action_edit(self) -> None:
        await self.run_in_terminal([sys.executable, "-c", "print('in the editor', flush=True); input()"])

    def action_copy(self) -> None:
        self.copy_to_clipboard("copied \x1b[31m text")

    def action_noise(self) -> None:
        os.write(2, b"a library prints this\n")
        os.system("echo a child prints this")

    def action_type(self) -> None:
        self.query_one("#typed", Static).update("somebody typed")

    def action_mouse_off(self) -> None:
        assert self.terminal is not None
        self.terminal.set_mouse(False)

    def action_hang(self) -> None:
        self.leave(3)
        time.sleep(3600)

    def action_crash(self) -> None:
        raise RuntimeError("\x1b]52;c;aGFja2Vk\x07 crashed")


if __name__ == "__main__":
    sys.exit(run_screen(BusyApp, state_folder() / "screen.log"))
