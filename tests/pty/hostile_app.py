"""A program under test: every way that text of somebody else's reaches the screen."""

from __future__ import annotations

import sys

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.content import Content
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import (
    DataTable,
    Input,
    Label,
    Log,
    Markdown,
    OptionList,
    RichLog,
    Static,
    TextArea,
    Tree,
)

from tui.sanitize import plain
from tui.state_file import state_folder
from tui.terminal_app import TerminalApp, run_screen

HOSTILE = (
    "\x1b]52;c;aGFja2Vk\x07\x1b[5;41mred\x1b[2J\x9b31m\x9d0;title\x9c\x1bP+q\x1b\\"
    "\u202egnp\u2066\u061c\x00\x08\x7f \ud800 [b [/x] \x1b[6n"
)


class Lines(Widget):
    def render_line(self, y: int) -> Strip:
        return Strip([Segment(HOSTILE), Segment(HOSTILE, Style(link="http://x/\x1b]52;c;aGFja2Vk\x07"))])


class HostileApp(TerminalApp):
    CSS = "Screen { layout: grid; grid-size: 2; } .titled { border: round white; height: 4; }"

    def compose(self) -> ComposeResult:
        yield Static(Content(HOSTILE))
        yield Static(plain(HOSTILE, "bold"))
        yield Label(Text(HOSTILE))
        yield Lines()
        yield RichLog(markup=False)
        yield Log()
        yield DataTable()
        yield TextArea(HOSTILE)
        yield Input(HOSTILE, placeholder=HOSTILE)
        yield OptionList(Content(HOSTILE))
        yield Tree(Text(HOSTILE))
        yield Markdown(f"`{HOSTILE}` [a](http://x/{HOSTILE}) \n\n{HOSTILE}")
        titled = Static("all widgets are up", classes="titled", markup=False)
        titled.border_title = Content(HOSTILE)
        titled.border_subtitle = Content(HOSTILE)
        titled.tooltip = Content(HOSTILE)
        yield titled

    def on_mount(self) -> None:
        self.title = HOSTILE
        self.query_one(RichLog).write(Text(HOSTILE))
        self.query_one(Log).write_line(HOSTILE)
        table = self.query_one(DataTable)
        table.add_column(Text(HOSTILE))
        table.add_row(Text(HOSTILE), label=Text(HOSTILE))
        self.notify(HOSTILE, title=HOSTILE)
        self.notify("[b] [/nope] [link=x", title="[/x]")
        self.set_timer(0.5, self._crash)

    def _crash(self) -> None:
        raise RuntimeError(HOSTILE)


if __name__ == "__main__":
    sys.exit(run_screen(HostileApp, state_folder() / "screen.log"))
