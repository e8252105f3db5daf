"""The images of a firing, or of its step: as half-blocks, or in pixels where the terminal draws these."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.style import Style

from engine.store.assets import Asset
from tui.drawing import Piece, fit
from tui.episode.pictures import GAP, Cell, Picture, Way, pictures_of
from tui.models import Snapshot
from tui.screens.base import Pane

LEAST_COLUMNS = 24
"""A picture has at least so many, or there is one less beside it."""


@dataclass(frozen=True)
class _Wanted:
    images: tuple[Asset, ...]
    columns: int
    rows: int
    way: Way
    most: int
    cell: Cell | None


class Thumbnail(Pane):
    """Decodes in a thread, one request at a time: what was asked for meanwhile is the next. ``drawn`` is told
    at the end. ``note``: whose images they are, where they are not the firing's own."""

    scope = ("log",)

    def __init__(self, drawn: Callable[[], None]) -> None:
        super().__init__()
        self._when_drawn = drawn
        self._images: tuple[Asset, ...] = ()
        self._pictures: tuple[Picture, ...] = ()
        self._shown: _Wanted | None = None
        self._busy = False
        self.note = ""
        self.why_none = ""

    def give(self, images: tuple[Asset, ...], note: str, why_none: str = "") -> None:
        """Show these. ``why_none``: why no image is drawn though there is one."""
        self._images, self.note, self.why_none = images, note, why_none
        self._draw_soon()
        self.redraw()

    def on_mount(self) -> None:
        self.centre.images_changed.subscribe(self, lambda choice: self.on_resize())

    def on_unmount(self) -> None:
        self._show(())

    def title(self, snapshot: Snapshot) -> list[Piece]:
        more = len(self._images) - len(self._pictures)
        told = self.note or ", ".join(picture.name for picture in self._pictures)
        return [
            (f" {told}", self.drawing.dim),
            (f", {more} more" if more > 0 and self._pictures else "", self.drawing.dim),
        ]

    def on_resize(self) -> None:
        self._draw_soon()
        self.redraw()

    def line(self, y: int, width: int) -> Iterable[Piece]:
        if self.why_none:
            return [(f" {self.why_none}", self.drawing.dim)] if y == 0 else ()
        if not self._images:
            return [(" no image", self.drawing.dim)] if y == 0 else ()
        if self.centre.images.why and y == self.content_size.height - 1:
            return [(f" half-blocks: {self.centre.images.why}", self.drawing.dim)]
        pieces: list[Piece] = []
        for picture in self._pictures:
            pieces += self._line_of(picture, y)
            pieces.append((" " * GAP, Style.null()))
        return pieces

    def _line_of(self, picture: Picture, y: int) -> list[Piece]:
        if y == 0:
            return [(fit(picture.name, picture.width, cut=self.drawing.glyphs.cut), self.drawing.dim)]
        if picture.problem:
            start = (y - 1) * picture.width
            return [(fit(picture.problem[start : start + picture.width], picture.width), self.drawing.warn)]
        if y - 1 >= len(picture.lines):
            return [(" " * picture.width, Style.null())]
        drawn = [(segment.text, segment.style or Style.null()) for segment in picture.lines[y - 1]]
        used = sum(len(text) for text, _ in drawn)
        return [*drawn, (" " * (picture.width - used), Style.null())]

    def _wanted(self) -> _Wanted:
        width, height = self.content_size
        chosen = self.centre.images
        coloured = self.drawing.coloured and not self.drawing.ascii and not self.app.no_color
        way: Way = chosen.way or "blocks"
        if not coloured or self.centre.preferences.images == "ascii":
            way = "ascii"
        images = () if self.why_none else self._images
        rows = height - bool(chosen.why)
        return _Wanted(images, width, rows, way, max(1, width // LEAST_COLUMNS), chosen.cell)

    def _draw_soon(self) -> None:
        if not self._busy and self._wanted() != self._shown:
            self._busy = True
            self.centre.spawn(self._draw())

    async def _draw(self) -> None:
        try:
            while (wanted := self._wanted()) != self._shown and self.is_attached:
                drawn = await asyncio.to_thread(
                    pictures_of,
                    *(wanted.images, wanted.columns, wanted.rows, wanted.way),
                    most=wanted.most,
                    cell=wanted.cell,
                )
                self._show(drawn)
                self._shown = wanted
        finally:
            self._busy = False
        if self.is_attached:
            self.redraw()
            self._when_drawn()

    def _show(self, pictures: tuple[Picture, ...]) -> None:
        stage, gone = self.centre.stage, self._pictures
        for graphic in (picture.graphic for picture in gone if picture.graphic is not None):
            stage.remove(graphic)
        self._pictures = pictures
        for graphic in (picture.graphic for picture in pictures if picture.graphic is not None):
            stage.add(graphic)
