"""Which images stand on the terminal, and where.

An image lies over blank cells of its own, which the screen draws, covers, scrolls and drops like any others.
After each update the cells that stand on the terminal are looked at: an image whose cells are all there is
drawn over them, one of which some are gone is taken away. So nothing else must know what hides an image.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from textual.geometry import Region

from tui.changed_cells import Cell, Shown
from tui.images.graphic import Graphic, number_in

MOST_WAITING_BYTES = 48 * 1024
"""Of images and frames that the terminal has not taken: a frame finds room beside it."""

_PAUSES_SEC = (0.005, 0.1)
"""Between two looks at whether there is room: at first, and at most."""


class Link(Protocol):
    """The way to the terminal."""

    def send(self, data: str) -> None:
        """Whole, and never dropped."""

    def waiting(self) -> int | None:
        """Bytes that the terminal has not taken; None while nothing can be sent."""


@dataclass
class _State:
    """at: where its cells stand, whole. turn: how often that has changed, or been written over. sent: its
    data are with the terminal. drawn: it is on the screen."""

    at: Region | None = None
    turn: int = 0
    sent: bool = False
    drawn: bool = False


class Stage:
    """All methods are for the app's loop. Idle, it does nothing."""

    def __init__(self, shown: Shown, link: Link) -> None:
        self._shown, self._link = shown, link
        self._states: dict[Graphic, _State] = {}
        self._open: Graphic | None = None
        self._drawing: asyncio.Task[None] | None = None

    def add(self, graphic: Graphic) -> None:
        """It is drawn from now on, where its cells stand."""
        self._states[graphic] = _State()

    def remove(self, graphic: Graphic) -> None:
        if (state := self._states.pop(graphic, None)) is not None:
            self._forget(graphic, state)

    def forget(self) -> None:
        """Nobody knows any more what stands on the terminal: take everything away, and begin anew."""
        for graphic, state in self._states.items():
            self._forget(graphic, state)

    def update(self) -> None:
        """After the cells on the terminal have changed."""
        if not self._states:
            return
        standing = _standing(self._shown.lines)
        for graphic, state in self._states.items():
            box, cells = standing.get(graphic.number, (Region(), 0))
            is_whole = cells == box.area == graphic.columns * graphic.rows and box.width == graphic.columns
            at = box if is_whole else None
            if at == state.at and (at is None or not any(map(at.overlaps, self._shown.written))):
                continue
            state.turn += 1
            if at != state.at and state.drawn:
                self._end_open()
                self._tell(graphic.erase)
            state.at, state.drawn = at, False
        if self._due() is not None and (self._drawing is None or self._drawing.done()):
            self._drawing = asyncio.get_running_loop().create_task(self._draw())

    def _due(self) -> Graphic | None:
        return next((one for one, state in self._states.items() if state.at and not state.drawn), None)

    async def _draw(self) -> None:
        while (graphic := self._due()) is not None:
            state = self._states[graphic]
            if not state.sent:
                state.sent = await self._send_data(graphic)
            elif state.at is not None:
                state.drawn = await self._send_bands(graphic, state, state.at)

    async def _send_data(self, graphic: Graphic) -> bool:
        """Whether all of it went; something else may have had to be said meanwhile."""
        for place, piece in enumerate(graphic.data):
            await self._room(len(piece))
            if graphic not in self._states or (place and self._open is not graphic):
                return False
            self._open = graphic
            self._link.send(piece)
        self._open = None
        return True

    async def _send_bands(self, graphic: Graphic, state: _State, at: Region) -> bool:
        turn = state.turn
        for row, band in graphic.bands:
            await self._room(len(band))
            if state.turn != turn:
                return False
            self._link.send(f"\x1b7\x1b[{at.y + row + 1};{at.x + 1}H{band}\x1b8")
        return True

    async def _room(self, size: int) -> None:
        pause, longest = _PAUSES_SEC
        while (waiting := self._link.waiting()) is None or (waiting and waiting + size > MOST_WAITING_BYTES):
            await asyncio.sleep(pause)
            pause = min(2 * pause, longest)

    def _forget(self, graphic: Graphic, state: _State) -> None:
        was_open = self._open is graphic
        self._end_open()
        if state.sent or was_open:
            self._tell(graphic.free)
        state.at, state.sent, state.drawn, state.turn = None, False, False, state.turn + 1

    def _end_open(self) -> None:
        """Data come in pieces, between which no other command may stand."""
        if self._open is not None:
            self._tell(self._open.abort)
            self._open = None

    def _tell(self, command: str) -> None:
        if command:
            self._link.send(command)


def _standing(lines: dict[int, list[Cell | None]]) -> dict[int, tuple[Region, int]]:
    """For each image, the rectangle around its cells, and how many these are."""
    found: dict[int, tuple[Region, int]] = {}
    for y, line in lines.items():
        x = 0
        for style, run in groupby(line, lambda cell: cell[1] if cell is not None else None):
            width = sum(1 for _ in run)
            if (number := number_in(style)) is not None:
                here = Region(x, y, width, 1)
                box, cells = found.get(number, (here, 0))
                found[number] = box.union(here), cells + width
            x += width
    return found
