"""Sixel, DEC's graphics of six lines at a time (VT330/VT340 Programmer Reference Manual, vol. 2, ch. 14)."""

from __future__ import annotations

import math
import re

import numpy
from numpy.typing import NDArray
from PIL import Image

from tui.images.graphic import Graphic

LINES = 6
COLOURS = 256
_SAMPLE = (160, 120)
"""The pixels that choose the colours: nearly as well as all of them, in a fifth of the time."""
_RUN = re.compile(r"(.)\1{3,}")
_ZERO = 63
"""The character of a column of six that are not set."""


def sixel_graphic(
    image: NDArray[numpy.uint8], number: int, columns: int, rows: int, cell: tuple[int, int]
) -> Graphic:
    """An H×W×3 image stretched over its cells of ``cell`` pixels.

    It is cut into bands, so that keys are answered between them: of as few rows of cells as are whole
    sixels. What is left below the last whole sixel stays blank.
    """
    width, height = columns * cell[0], rows * cell[1] // LINES * LINES
    picture = Image.fromarray(image).resize((width, max(LINES, height)), Image.Resampling.BOX)
    few = picture.resize(_SAMPLE, Image.Resampling.BOX).quantize(COLOURS)
    indexed = picture.quantize(palette=few, dither=Image.Dither.NONE)
    palette = numpy.asarray(indexed.getpalette() or [], dtype=numpy.uint8).reshape(-1, 3)
    pixels, step = numpy.asarray(indexed), math.lcm(LINES, cell[1])
    bands = tuple(
        (top // cell[1], encode(pixels[top : top + step], palette)) for top in range(0, len(pixels), step)
    )
    return Graphic(number, columns, rows, bands)


def encode(pixels: NDArray[numpy.uint8], palette: NDArray[numpy.uint8]) -> str:
    """H×W indices into an N×3 palette, H a multiple of six, as one sixel sequence."""
    height, width = pixels.shape
    told = [f'\x1bP0;1;0q"1;1;{width};{height}']
    for colour in numpy.unique(pixels).tolist():
        red, green, blue = (round(part * 100 / 255) for part in palette[colour].tolist())
        told.append(f"#{colour};2;{red};{green};{blue}")
    told += ["-".join(_line(pixels[top : top + LINES]) for top in range(0, height, LINES)), "\x1b\\"]
    return "".join(told)


def _line(pixels: NDArray[numpy.uint8]) -> str:
    """Six lines: each colour over the whole width, the blank end left out."""
    used, places = numpy.unique(pixels, return_inverse=True)
    columns, drawn = numpy.arange(pixels.shape[1]), numpy.zeros((len(used), pixels.shape[1]), numpy.uint8)
    for line, row in enumerate(places.reshape(pixels.shape)):
        drawn[row, columns] |= 1 << line
    texts = ((row + _ZERO).tobytes().decode("ascii").rstrip("?") for row in drawn)
    pairs = zip(used.tolist(), texts, strict=True)
    return "$".join(f"#{colour}{_RUN.sub(_repeated, text)}" for colour, text in pairs)


def _repeated(run: re.Match[str]) -> str:
    return f"!{len(run[0])}{run[1]}"
