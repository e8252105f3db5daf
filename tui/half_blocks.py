"""An image as rows of half-block characters: two pixels a cell, on any terminal that has colours."""

from __future__ import annotations

import io
from itertools import groupby

import numpy
from numpy.typing import NDArray
from PIL import Image
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

MAX_FILE_BYTES = 64 << 20
MAX_PIXELS = 64 << 20
_RAMP = " .:-=+*#%@"


class ImageError(Exception):
    """The image cannot be shown; the message says why."""


def decode_image(data: bytes) -> NDArray[numpy.uint8]:
    """A PNG (or another format that Pillow knows by its content) as H×W×3 uint8. Raises ImageError.

    For a thread: it takes some milliseconds for a megapixel.
    """
    if len(data) > MAX_FILE_BYTES:
        raise ImageError(f"the file has {len(data) >> 20} MB, more than {MAX_FILE_BYTES >> 20}")
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP", "GIF", "BMP")) as image:
            if image.width * image.height > MAX_PIXELS:
                raise ImageError(f"{image.width}×{image.height} pixels are too many")
            return numpy.asarray(image.convert("RGB"))
    except ImageError:
        raise
    except Exception as error:  # Pillow's decoders raise whatever a damaged file provokes
        raise ImageError(f"not an image that can be read: {error}") from None


def fit(width: int, height: int, columns: int, rows: int, shape: float = 2.0) -> tuple[int, int]:
    """The cells (columns, rows) that an image takes within these, its shape kept; at least one each. shape:
    a cell's height by its width."""
    scale = min(columns / width, rows * shape / height)
    return max(1, round(width * scale)), max(1, round(height * scale / shape))


def half_blocks(image: NDArray[numpy.uint8], columns: int, rows: int) -> list[list[Segment]]:
    """An H×W×3 image within ``columns`` × ``rows`` cells: a list of segments for each row.

    Each segment has a style; neighbours of equal colours are one segment.
    """
    pixels = _scaled(image, *fit(image.shape[1], image.shape[0], columns, rows))
    pairs = zip(pixels[0::2].tolist(), pixels[1::2].tolist(), strict=True)
    return [_row(list(zip(map(tuple, upper), map(tuple, lower), strict=True))) for upper, lower in pairs]


def ascii_blocks(image: NDArray[numpy.uint8], columns: int, rows: int) -> list[str]:
    """The same by the darkness of letters, without colours."""
    width, height = fit(image.shape[1], image.shape[0], columns, rows)
    grey = _scaled(image, width, height).mean(axis=2).reshape(height, 2, width).mean(axis=1)
    levels = (grey / 256 * len(_RAMP)).astype(int)
    return ["".join(_RAMP[level] for level in line) for line in levels.tolist()]


def _row(cells: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[Segment]:
    row = []
    for (upper, lower), run in groupby(cells):
        style = Style(color=Color.from_rgb(*upper), bgcolor=Color.from_rgb(*lower))
        row.append(Segment("▀" * len(list(run)), style))
    return row


def _scaled(image: NDArray[numpy.uint8], width: int, height: int) -> NDArray[numpy.uint8]:
    return numpy.asarray(Image.fromarray(image).resize((width, height * 2), Image.Resampling.BOX))
