"""Choosing one of several: by its key, by cursor, or by typing. Help, palette and command line are menus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from engine.text import visible
from tui.drawing import Piece, fit, strip_of
from tui.sanitize import plain
from tui.screens.dialog import Dialog
from tui.widgets.prompt import Line


@dataclass(frozen=True)
class Item:
    """id: what choosing it gives; "" is a title between the others. key: Textual's name of the key that
    chooses it at once; shown: how keys are shown. why_not: why it cannot be chosen now."""

    id: str
    text: str
    note: str = ""
    key: str = ""
    shown: str = ""
    why_not: str = ""


@dataclass(frozen=True)
class Chosen:
    """id of the item under the cursor, "" for none; typed: what stood in the line."""

    id: str
    typed: str = ""


Source = Callable[[str], Sequence[Item]]
"""The items for what is typed so far."""


def matching(items: Sequence[Item], typed: str) -> list[Item]:
    """Those that have every word that was typed; first those that have them in their text."""
    words = typed.lower().split()
    found = [item for item in items if all(word in f"{item.text} {item.note}".lower() for word in words)]
    return sorted(found, key=lambda item: not all(word in item.text.lower() for word in words))


class MenuList(Widget, inherit_bindings=False):
    """The items, with a cursor that skips titles."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "MenuList { height: auto; }"

    def __init__(self, items: Sequence[Item]) -> None:
        super().__init__()
        self.items: Sequence[Item] = items
        self.at = 0
        self.top = 0
        self.move(0)

    def set_items(self, items: Sequence[Item]) -> None:
        self.items, self.at, self.top = items, 0, 0
        self.move(0)
        self.refresh(layout=True)

    @property
    def current(self) -> Item | None:
        return self.items[self.at] if self.at < len(self.items) and self.items[self.at].id else None

    def move(self, by: int) -> None:
        """To the next item in that direction; at an end, to the nearest that there is."""
        places = [place for place, item in enumerate(self.items) if item.id]
        if not places:
            return
        wanted = self.at + by
        if by < 0:
            self.at = max((place for place in places if place <= wanted), default=places[0])
        else:
            self.at = min((place for place in places if place >= wanted), default=places[-1])
        self._keep_visible()
        self.refresh()

    def _keep_visible(self) -> None:
        height = self.size.height or len(self.items)
        first = 0 if self.at and not any(item.id for item in self.items[: self.at]) else self.at
        self.top = min(self.top, first)
        self.top = max(self.top, self.at - height + 1)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return max(1, len(self.items))

    def render_line(self, y: int) -> Strip:
        drawing = self.app.drawing  # type: ignore[attr-defined]
        width = self.size.width
        place = self.top + y
        if place >= len(self.items):
            return strip_of([], width, drawing.plain)
        item = self.items[place]
        if not item.id:
            return strip_of([(f" {item.text}", drawing.key)], width, drawing.plain)
        keys = max((cell_len(each.shown) for each in self.items), default=0)
        text_style: Style = drawing.dim if item.why_not else drawing.plain
        pieces: list[Piece] = [(" ", drawing.plain)]
        if keys:
            pieces.append((fit(item.shown, keys + 2), drawing.dim if item.why_not else drawing.key))
        pieces.append((item.text, text_style))
        if note := item.why_not or item.note:
            pieces.append((f"  {note}", drawing.dim))
        over = drawing.cursor if place == self.at else None
        return strip_of(pieces, width, drawing.plain, over, cut=drawing.glyphs.cut)

    def on_resize(self) -> None:
        self._keep_visible()


class Menu(Dialog[Chosen]):
    """Gives what was chosen, or None. typed: None where nothing is typed, and the items' keys choose."""

    DEFAULT_CSS = """
    Menu { align: center middle; }
    Menu.bottom { align: left bottom; }
    Menu > Vertical { width: 96%; max-width: 100; height: auto; max-height: 90%; border: round $primary;
                      background: $background; }
    Menu.bottom ToastRack { dock: top; margin: 1 0 0 0; }
    Menu.bottom > Vertical { margin-bottom: 1; width: 100%; max-width: 100%; max-height: 60%; }
    Menu MenuList { max-height: 100%; }
    Menu Static { height: 1; }
    """

    def __init__(
        self, title: str, source: Source, *, typed: str | None = None, prefix: str = "/", bottom: bool = False
    ) -> None:
        super().__init__(classes="bottom" if bottom else "")
        self._heading = title
        self._source = source
        self._prefix = prefix
        self.list = MenuList(source(typed or ""))
        self.line = Line(typed, keys=self._key, changed=self._typed) if typed is not None else None
        how = [("type", "to find")] if self.line is not None else [("j k", "move")]
        self.takes = (*how, ("enter", "choose"), ("esc", "close"))

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = plain(f" {self._heading} ")
            if self.line is not None:
                yield self.line
            yield self.list

    def on_mount(self) -> None:
        if self.line is not None:
            self.set_focus(self.line)

    async def key(self, event: events.Key) -> None:
        if self.line is not None:
            await self.line.take(event)
        elif not self._key(event):
            self._by_key(event.key)

    def _key(self, event: events.Key) -> bool:
        """Those that move, leave and choose, whether or not something is typed."""
        by = {"down": 1, "up": -1, "pagedown": 10, "pageup": -10, "tab": 1, "shift+tab": -1}
        if self.line is None:
            by |= {"j": 1, "k": -1}
        if event.key == "escape":
            self.dismiss(None)
        elif event.key in by:
            self.list.move(by[event.key])
        elif event.key == "enter":
            self._choose()
        else:
            return False
        return True

    def _typed(self, typed: str) -> None:
        self.list.set_items(self._source(typed))

    def _by_key(self, key: str) -> None:
        item = next((item for item in self.list.items if item.key == key), None)
        if item is not None:
            self.list.at = self.list.items.index(item)
            self._choose()

    def _choose(self) -> None:
        item = self.list.current
        if item is not None and item.why_not:
            self.centre.tell(f"{item.text}: {item.why_not}")
            return
        typed = self.line.value if self.line is not None else ""
        self.dismiss(Chosen(item.id if item else "", typed))


class Text(Static):
    """Lines of untrusted text."""

    def __init__(self, text: str, **more: str) -> None:
        super().__init__("\n".join(map(visible, text.split("\n"))), markup=False, **more)  # type: ignore[arg-type]
