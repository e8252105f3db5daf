"""The first and the last line of every screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from textual.strip import Strip
from textual.widget import Widget

from tui.drawing import Piece, strip_of
from tui.keymap import shown_key
from tui.models import duration, stalled_workers

if TYPE_CHECKING:
    from tui.app import ControlCentre
    from tui.screens.base import View

GAP = "  "


class _Bar(Widget, inherit_bindings=False):
    """One line, painted only when it says something else than before."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "_Bar { height: 1; width: 100%; }"

    def __init__(self) -> None:
        super().__init__()
        self._said: list[Piece] = []

    @property
    def centre(self) -> ControlCentre:
        return cast("ControlCentre", self.app)

    @property
    def view(self) -> View:
        return cast("View", self.screen)

    def changed(self) -> None:
        """It may say something else now."""
        if self.is_mounted and self.pieces() != self._said:
            self.refresh()

    def pieces(self) -> list[Piece]:
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        self._said = self.pieces()
        return strip_of(self._said, self.size.width, self.centre.drawing.bar)

    def _apart(self, left: list[Piece], right: list[Piece]) -> list[Piece]:
        """With the right part at the right end, where there is room for it."""
        used = sum(cell_len(text) for text, _ in left)
        room = self.size.width - used - sum(cell_len(text) for text, _ in right)
        return [*left, (" " * room, self.centre.drawing.bar), *right] if room > 0 else left


class Header(_Bar):
    """Where this is, of what; what is wrong; the time."""

    DEFAULT_CSS = "Header { dock: top; }"

    def pieces(self) -> list[Piece]:
        centre, drawing = self.centre, self.centre.drawing
        snapshot = centre.snapshot
        left: list[Piece] = [(" evaltower ", drawing.key + drawing.bar), (self.view.crumbs(), drawing.bar)]
        if snapshot.problem:
            left.append((f"{GAP}{snapshot.problem}", drawing.bad + drawing.bar))
            return left
        if snapshot.queue.paused:
            left.append((f"{GAP}queue paused", drawing.warn + drawing.bar))
        if snapshot.queue.playing:
            left.append((f"{GAP}{snapshot.queue.playing} is played", drawing.warn + drawing.bar))
        right: list[Piece] = []
        if self.size.width >= 100:
            right.append((f"{centre.attached}{GAP}", drawing.dim + drawing.bar))
        if centre.read_only:
            right.append((f"read-only{GAP}", drawing.warn + drawing.bar))
        if drawing.slow:
            right.append((f"low-bw{GAP}", drawing.dim + drawing.bar))
        right.append((f"{snapshot.now:%H:%M} ", drawing.bar))
        return self._apart(left, right)


class Footer(_Bar):
    """What can be done here, by which key; at the right what is marked, compared, stalled."""

    DEFAULT_CSS = "Footer { dock: bottom; }"

    def pieces(self) -> list[Piece]:
        drawing = self.centre.drawing
        right = [(f"{text} ", drawing.warn + drawing.bar) for text in self._notes()]
        room = self.size.width - sum(cell_len(text) for text, _ in right) - 1
        left: list[Piece] = []
        for line in self._lines():
            key = shown_key(self.centre.keymap.keys(line.action.id)[0])
            piece = f" {key} ", f"{line.action.label} "
            if (room := room - cell_len("".join(piece))) < 0:
                break
            left += [(piece[0], drawing.key + drawing.bar), (piece[1], drawing.bar)]
        return self._apart(left, right)

    def _lines(self) -> list:  # type: ignore[type-arg]
        lines = self.centre.keymap.footer(*self.view.scopes)
        return [line for line in lines if self.view.why_not(line.action) is None]

    def _notes(self) -> list[str]:
        centre = self.centre
        snapshot = centre.snapshot
        stalled = [idle for run in snapshot.runs for _, idle in stalled_workers(run.progress, snapshot.now)]
        notes = []
        if stalled:
            notes.append(f"{len(stalled)} stalled {duration(max(stalled))}")
        if centre.compared:
            notes.append(f"{len(centre.compared)} to compare")
        return notes
