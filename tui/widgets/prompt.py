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
    """An input of one line without frame; it never blinks. changed: told what is typed. keys: takes those
    that are whose line this is, and says whether it was one.

    Keys come from the screen by :meth:`take`: what one does is done before the next is looked at.
    """

    DEFAULT_CSS = """
    Line { border: none; height: 1; padding: 0; width: 1fr; background: $background; }
    Line:focus { border: none; background: $background; background-tint: $background 0%; }
    Line:nocolor > .input--cursor { text-style: reverse; }
    """

    def __init__(
        self,
        value: str = "",
        *,
        keys: Callable[[events.Key], bool],
        changed: Callable[[str], object] = lambda typed: None,
    ) -> None:
        super().__init__(value, select_on_focus=False)
        self.cursor_blink = False
        self._keys, self._changed = keys, changed
        self._told = value

    def begin(self, value: str) -> None:
        """With this, of which nobody is told."""
        self._told = self.value = value
        self.cursor_position = len(value)

    async def take(self, event: events.Key) -> None:
        """Carry it out, if it is one of this line's."""
        own = self._bindings.key_to_bindings.get(event.key)
        if self._keys(event):
            return
        if event.is_printable:
            await self._on_key(event)
        elif own:
            await self.app.run_action(own[0].action, self)
        self._tell()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._tell()

    def _tell(self) -> None:
        if self.value != self._told:
            self._told = self.value
            self._changed(self.value)


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
        self._line = Line(keys=self._key, changed=self._typed)
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
        self._line.begin(value if typed is None else typed)
        if typed is not None:
            self._typed(typed)
        self.display = True
        self.screen.set_focus(self._line)

    async def take(self, event: events.Key) -> None:
        """A key that was typed while it is open."""
        await self._line.take(event)

    def _typed(self, typed: str) -> None:
        self._problem.update(visible(self._on_change(typed)) + " ")

    def _key(self, event: events.Key) -> bool:
        if event.key not in ("enter", "escape"):
            return False
        if event.key == "escape":
            self._on_change(self._before)
        self.display = False
        self.screen.set_focus(None)
        return True
