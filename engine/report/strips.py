"""An episode's frames in a row: the first, the last, and some between, small and in the page's own text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from engine.report.drawing import caption_of
from engine.report.frames import Frame, frames_of, streams_of
from engine.report.images import ImageError, data_uri, open_image, thumbnail
from engine.report.markup import Html, el, void

Lines = Iterable[Mapping[str, Any]]


class Strips:
    """Makes strips of at most ``frames`` images each until ``budget`` bytes of the page are taken; from then
    on there are none, and ``left_out`` counts them. ``given`` and ``without`` count the episodes that
    got one and those that have no frames."""

    def __init__(self, environment: str | None, frames: int, budget: int) -> None:
        self._environment = environment
        self._frames = frames
        self._left = budget
        self.left_out = self.given = self.without = 0

    def strip(self, folder: Path, read: Callable[[], Lines]) -> Html | None:
        """The strip of an episode's folder, whose log ``read`` reads from the start; None where it has no
        frames, or none is left to give."""
        streams = streams_of(read(), folder, self._environment)
        if not streams:
            self.without += 1
            return None
        if self._left <= 0:
            self.left_out += 1
            return None
        figures = []
        for frame in _spread(list(frames_of(read(), folder, streams[0])), self._frames):
            try:
                data, (width, height) = thumbnail(open_image(frame.path))
            except ImageError:
                continue  # of a run that was killed as it wrote; its log names what should be there
            caption = caption_of(frame)
            image = void("img", src=data_uri(data), alt=caption, width=width, height=height)
            figures.append(el("figure", image, el("figcaption", caption)))
            self._left -= len(figures[-1])
        self.given += bool(figures)
        return el("div", *figures, cls="strip") if figures else None


def _spread(frames: list[Frame], most: int) -> list[Frame]:
    """The first, the last, and others evenly between."""
    if len(frames) <= most:
        return frames
    places = dict.fromkeys(round(at * (len(frames) - 1) / (most - 1)) for at in range(most))
    return [frames[place] for place in places]
