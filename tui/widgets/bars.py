"""The first and the last line of every screen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from tui.drawing import Piece, strip_of
from tui.keymap import HelpLine, shown_key
from tui.models import Snapshot, duration, stalled_workers
from tui.screens.dialog import Dialog

if TYPE_CHECKING:
    from tui.app import ControlCentre
    from tui.screens.base import View

GAP = "  "
_FIRST = {"global.open": 0, "global.help": 0, "global.previous_view": 0}


def _width(offer: tuple[str, str]) -> int:
    return cell_len(f" {offer[0]} {offer[1]} ")


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
        drawing = self.centre.drawing
        return strip_of(self._said, self.size.width, drawing.bar, cut=drawing.glyphs.cut)

    def _apart(self, left: list[Piece], right: list[Piece]) -> list[Piece]:
        """With the right part at the right end, where there is room for it."""
        used = sum(cell_len(text) for text, _ in left)
        room = self.size.width - used - sum(cell_len(text) for text, _ in right)
        return [*left, (" " * room, Style.null()), *right] if room > 0 else left


class Header(_Bar):
    """Where this is, of what; what is wrong; the time."""

    DEFAULT_CSS = "Header { dock: top; }"

    def pieces(self) -> list[Piece]:
        centre, drawing = self.centre, self.centre.drawing
        snapshot = centre.snapshot
        left: list[Piece] = [(" evaltower ", drawing.key), (self.view.crumbs(), Style.null())]
        if snapshot.problem:
            return self._in_trouble(snapshot.problem)
        if snapshot.queue.paused:
            left.append((f"{GAP}queue paused", drawing.warn))
        if snapshot.queue.playing:
            left.append((f"{GAP}{snapshot.queue.playing} is played", drawing.warn))
        right: list[Piece] = []
        if self.size.width >= 100:
            right.append((f"{attached(snapshot)}{GAP}", drawing.dim))
        if centre.read_only:
            right.append((f"read-only{GAP}", drawing.warn))
        if drawing.slow:
            right.append((f"low-bw {centre.link}{GAP}", drawing.dim))
        right.append((f"{centre.clock.now():%H:%M} ", Style.null()))
        return self._apart(left, right)

    def _in_trouble(self, problem: str) -> list[Piece]:
        """What is wrong, and its remedy; before it, as far as there is room, where this is."""
        drawing = self.centre.drawing
        told = f"{GAP}{problem.replace(f' for {self.centre.control.root}', '')} "
        room = self.size.width - cell_len(told)
        here = [" evaltower", f" evaltower {self.view.crumbs()}"]
        fitting = ["", *(each for each in here if cell_len(each) <= room)]
        return [(fitting[-1], drawing.key), (told, drawing.bad)]


def attached(snapshot: Snapshot) -> str:
    """The machine, and whose backend it is."""
    parts = [snapshot.resources.host.name] if snapshot.resources else []
    if (backend := snapshot.backend) is not None:
        here = "embedded" if backend.pid == os.getpid() else "attached"
        parts.append(f"{here}, pid {backend.pid}")
    return GAP.join(parts)


class Footer(_Bar):
    """What can be done here, by which key; at the right what is marked, compared, stalled."""

    DEFAULT_CSS = "Footer { dock: bottom; }"

    def pieces(self) -> list[Piece]:
        drawing = self.centre.drawing
        right = [(f"{text} ", drawing.warn) for text in self._notes()]
        room = self.size.width - sum(cell_len(text) for text, _ in right) - 1
        left: list[Piece] = []
        for key, label in self._fitting(room):
            left += [(f" {key} ", drawing.key), (f"{label} ", Style.null())]
        return self._apart(left, right)

    def _fitting(self, room: int) -> list[tuple[str, str]]:
        """Keys and what they do, as many as there is room for; last, in any case, what the view keeps."""
        top = self.app.screen
        offered, kept = (list(top.takes), []) if isinstance(top, Dialog) else self._offered()
        room -= sum(map(_width, kept))
        fitting = []
        for each in offered:
            if (room := room - _width(each)) < 0:
                break
            fitting.append(each)
        return [*fitting, *kept]

    def _offered(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """What opens comes first, then what this place has, then everything else; and what the view keeps."""
        lines = self.centre.keymap.footer(*self.view.scopes)
        able = [line for line in lines if self.view.why_not(line.action) is None]
        able.sort(key=lambda line: _FIRST.get(line.action.id, 1 + (line.action.scope == "global")))
        keep = [line for line in able if line.action.id in self.view.keeps]
        return [self._told(line) for line in able if line not in keep], list(map(self._told, keep))

    def _told(self, line: HelpLine) -> tuple[str, str]:
        return shown_key(self.centre.keymap.keys(line.action.id)[0]), line.action.label

    def _notes(self) -> list[str]:
        centre = self.centre
        snapshot = centre.snapshot
        stalled = [
            idle
            for run in snapshot.runs
            if run.status == "running"  # of one that is over, the last word stays on disk
            for _, idle in stalled_workers(run.progress, snapshot.now)
        ]
        notes = []
        if stalled:
            notes.append(f"{len(stalled)} stalled {duration(max(stalled))}")
        if centre.compared:
            notes.append(f"{len(centre.compared)} to compare")
        return notes
