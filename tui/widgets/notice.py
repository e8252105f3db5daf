"""A text to be read: an error, a traceback. It scrolls, and ``y`` copies it."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll

from tui.sanitize import plain
from tui.screens.dialog import Dialog
from tui.widgets.menu import Text


class Notice(Dialog[None]):
    DEFAULT_CSS = """
    Notice { align: center middle; }
    Notice > VerticalScroll { width: 90%; height: auto; max-height: 90%; border: round $error;
                              background: $background; padding: 0 1; scrollbar-size: 1 1; }
    Notice Static { height: auto; }
    """

    takes = (("y", "copy"), ("j k", "scroll"), ("esc", "close"))

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._heading, self._text = title, text
        self._area = VerticalScroll(Text(text), can_focus=False)

    def compose(self) -> ComposeResult:
        self._area.border_title = plain(f" {self._heading} ")
        yield self._area

    async def key(self, event: events.Key) -> None:
        lines = {"down": 1, "j": 1, "up": -1, "k": -1, "pagedown": 10, "pageup": -10}
        if event.key in lines:
            self._area.scroll_relative(y=lines[event.key], animate=False)
        elif event.key == "y":
            self.centre.copy_to_clipboard(self._text)
        elif event.key in ("escape", "enter", "q"):
            self.dismiss(None)
