"""The line in which a filter is typed."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static

from engine.text import visible

OnChange = Callable[[str], str]
"""Takes what is typed; gives what is wrong with it, or an empty text."""


class Line(Input, inherit_bindings=True):
    """An input of one line without frame; it never blinks."""

    DEFAULT_CSS = """
    Line { border: none; height: 1; padding: 0; width: 1fr; background: $background; }
    Line:focus { border: none; background: $background; background-tint: $background 0%; }
    """

    def __init__(self, value: str = "") -> None:
        super().__init__(value, select_on_focus=False)
        self.cursor_blink = False
        self._handled: events.Key | None = None

    async def _on_key(self, event: events.Key) -> None:
        self._handled = event
        await super()._on_key(event)

    def catch_up(self, event: events.Key) -> None:
        """Take a key that was typed before this line had the focus; not one that it took already."""
        if event is not self._handled:
            event.stop()
            self.post_message(events.Key(event.key, event.character))


class Prompt(Horizontal):
    """Hidden until :meth:`ask`. ``enter`` keeps what was typed, ``escape`` what was before."""

    DEFAULT_CSS = """
    Prompt { dock: bottom; height: 1; margin-bottom: 1; display: none; }
    Prompt Static { width: auto; height: 1; }
    Prompt .problem { color: $error; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._prefix = Static("", markup=False)
        self._line = Line()
        self._problem = Static("", classes="problem", markup=False)
        self._before = ""
        self._on_change: OnChange = lambda typed: ""

    def compose(self) -> ComposeResult:
        yield self._prefix
        yield self._line
        yield self._problem

    def ask(self, prefix: str, value: str, on_change: OnChange, typed: str | None = None) -> None:
        """Let it be typed; ``on_change`` follows every key. typed: what stands there at first, if not
        ``value``, to which ``escape`` goes back."""
        self._before, self._on_change = value, on_change
        self._prefix.update(f" {visible(prefix)} ")
        self._problem.update("")
        shown = value if typed is None else typed
        with self._line.prevent(Input.Changed):
            self._line.value = shown
        if typed is not None:
            self._problem.update(visible(on_change(typed)) + " ")
        self._line.cursor_position = len(shown)
        self.display = True
        self.screen.set_focus(self._line)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._problem.update(visible(self._on_change(event.value)) + " ")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self._on_change(self._before)
            self._close()

    def catch_up(self, event: events.Key) -> None:
        """While it is open, keys that reach the screen are its."""
        self._line.catch_up(event)

    def _close(self) -> None:
        self.display = False
        self.screen.set_focus(None)
