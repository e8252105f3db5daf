"""A form as lines: a field each, and below them what is to be said of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.style import Style
from textual import events

from engine.figures import count
from tui.drawing import Piece, fit
from tui.episode.inks import InkedLine, inked, wrapped
from tui.launch_fields import Field
from tui.screens.base import Pane
from tui.widgets.ink import pieces_of

WIDEST_LABEL = 20
WIDEST_PATH = 32
LEAST_FIELDS = 4
"""So many lines of fields stay, whatever there is to be said below."""


class FormView(Pane):
    """``at``: the field under the cursor; the one after the last is the button."""

    scope = ("form",)

    def __init__(self, button: str) -> None:
        super().__init__()
        self.active = True
        self.at = 0
        self._button = button
        self._fields: Sequence[Field] = ()
        self._notes: Sequence[InkedLine] = ()
        self._lines: list[InkedLine] = []
        self._top = 0

    def give(self, fields: Sequence[Field]) -> None:
        """Show these. The cursor stays on its field, or on the button."""
        on_button = self.at == len(self._fields) > 0
        key = self.current.key if self.current else ""
        self._fields = fields
        self.at = min(self.at, len(fields))
        if on_button:
            self.at = len(fields)
        elif key:
            self.go_to(key)
        self._arrange()

    def say(self, notes: Sequence[InkedLine]) -> None:
        """Below the fields."""
        self._notes = notes
        self._arrange()

    @property
    def current(self) -> Field | None:
        """None: the button."""
        return self._fields[self.at] if self.at < len(self._fields) else None

    def go_to(self, key: str) -> None:
        self.move(next((place for place, field in enumerate(self._fields) if field.key == key), self.at))

    def move(self, to: int) -> None:
        self.at = min(max(0, to), len(self._fields))
        self._arrange()

    async def do(self, action_id: str) -> bool:
        page = max(1, self._room - 1)
        moves = {
            "global.down": self.at + 1,
            "global.up": self.at - 1,
            "global.focus_next": self.at + 1,
            "global.focus_previous": self.at - 1,
            "global.first": 0,
            "global.last": len(self._fields),
            "global.page_down": self.at + page,
            "global.page_up": self.at - page,
            "global.half_page_down": self.at + page // 2,
            "global.half_page_up": self.at - page // 2,
        }
        if action_id in moves:
            self.move(moves[action_id])
        return action_id in moves

    def on_resize(self, event: events.Resize) -> None:
        self._arrange()

    @property
    def _room(self) -> int:
        """Lines for fields and button."""
        return max(1, self.content_size.height - len(self._lines) - 1)

    def _arrange(self) -> None:
        width, height = self.content_size
        lines = list(wrapped(self._notes, width - 2))
        most = max(0, height - 1 - min(LEAST_FIELDS, len(self._fields) + 1))
        if len(lines) > most:
            lines = [
                *lines[: max(0, most - 1)],
                inked(f"and {count(len(lines) - most + 1, 'more line')}", "dim"),
            ][:most]
        self._lines = lines
        self._top = min(self._top, self.at, max(0, len(self._fields) + 1 - self._room))
        self._top = max(self._top, self.at - self._room + 1)
        self.redraw()

    def line(self, y: int, width: int) -> Iterable[Piece]:
        below = min(self.content_size.height - len(self._lines), len(self._fields) + 3)
        if y >= below:
            note = self._lines[y - below] if y - below < len(self._lines) else ()
            return [(" ", self.drawing.plain), *pieces_of(note, self.drawing)]
        if y == below - 1:
            return [(self.drawing.glyphs.rule * width, self.drawing.dim)] if self._lines else ()
        place = self._top + y
        if place > len(self._fields):
            return ()
        if place == len(self._fields):
            return [(f" [ {self._button} ]", self.drawing.key)]
        return self._field(self._fields[place], chosen=place == self.at)

    def over(self, y: int) -> Style | None:
        return self.drawing.cursor if self._top + y == self.at and y < self._room else None

    def _shown(self, field: Field) -> str:
        """A long path by its end, so that there is room for what is said of it."""
        if field.kind != "file" or len(field.value) <= WIDEST_PATH:
            return field.value
        return f"{self.drawing.glyphs.cut}/{field.value.rpartition('/')[2]}"

    def _field(self, field: Field, *, chosen: bool) -> list[Piece]:
        drawing = self.drawing
        label = min(WIDEST_LABEL, max(cell_len(one.label) for one in self._fields))
        dim = drawing.dim
        pieces: list[Piece] = [(f" {fit(field.label, label, cut=drawing.glyphs.cut)}  ", dim)]
        value = (self._shown(field), drawing.strong) if field.value else (field.default, dim)
        left, right = ("◂ ", " ▸") if not drawing.ascii else ("< ", " >")
        pieces += [(left, drawing.key), value, (right, drawing.key)] if chosen and field.options else [value]
        if field.problem:
            first, _, more = field.problem.partition("\n")
            pieces.append((f"  {first}{' and more' if more else ''}", drawing.bad))
        elif field.note:
            pieces.append((f"  {field.note}", dim))
        return pieces
