"""Are you sure: exactly what, and what is lost."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll

from tui.sanitize import plain
from tui.screens.dialog import Dialog
from tui.widgets.menu import Text
from tui.widgets.prompt import Line

_SCROLLS = {"down": 1, "up": -1, "pagedown": 10, "pageup": -10}


class Confirm(Dialog[bool]):
    """lines: exactly what it is about, scrolled by the arrows. question: with ``y`` for yes, and every other
    key for no.

    typed: a text that must be typed instead, for what cannot be undone.
    """

    DEFAULT_CSS = """
    Confirm { align: center middle; }
    Confirm > Vertical { width: 90%; max-width: 90; height: auto; max-height: 90%; border: round $error;
                         background: $background; padding: 0 1; }
    Confirm VerticalScroll { height: auto; max-height: 16; }
    Confirm Static { height: auto; width: 100%; }
    Confirm .question { text-style: bold; margin-top: 1; }
    """

    def __init__(self, title: str, lines: Sequence[str], question: str, *, typed: str = "") -> None:
        super().__init__()
        self._heading, self._question, self._typed = title, question, typed
        self._line = Line(keys=self._key) if typed else None
        answers = (("enter", "answer"), ("esc", "no")) if typed else (("y", "yes"), ("any other", "no"))
        self.takes = (*answers, ("up down", "scroll"))
        self._area = VerticalScroll(Text("\n".join(lines)), can_focus=False)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = plain(f" {self._heading} ")
            yield self._area
            hint = f"type {self._typed} and press enter" if self._typed else "y/N"
            yield Text(f"{self._question}  {hint}", classes="question")
            if self._line is not None:
                yield self._line

    def on_mount(self) -> None:
        if self._line is not None:
            self.set_focus(self._line)

    async def key(self, event: events.Key) -> None:
        if self._line is not None:
            await self._line.take(event)
        elif not self._scrolled(event.key):
            self.dismiss(event.key in ("y", "Y"))

    def _key(self, event: events.Key) -> bool:
        """Those beside what is typed."""
        if event.key == "escape":
            self.dismiss(False)
        elif event.key == "enter" and self._line is not None:
            self.dismiss(self._line.value.strip() == self._typed)
        else:
            return self._scrolled(event.key)
        return True

    def _scrolled(self, key: str) -> bool:
        if key in _SCROLLS:
            self._area.scroll_relative(y=_SCROLLS[key], animate=False)
        return key in _SCROLLS
