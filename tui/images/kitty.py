"""Kitty's graphics protocol (https://sw.kovidgoyal.net/kitty/graphics-protocol): PNGs by number."""

from __future__ import annotations

import base64
import io

import numpy
from numpy.typing import NDArray
from PIL import Image

from tui.images.graphic import Graphic

_CHUNK = 4096
"""The most characters of one command's payload."""

_UNKNOWN_CELL = (16, 32)
"""Pixels of a cell where nobody says: no image has more of them than these."""


def kitty_graphic(
    image: NDArray[numpy.uint8], number: int, columns: int, rows: int, cell: tuple[int, int] | None
) -> Graphic:
    """An H×W×3 image, of no more pixels than its cells have; the terminal stretches it over them.

    Every command asks for no answer (``q=2``), and leaves the cursor where it is (``C=1``).
    """
    width, height = cell or _UNKNOWN_CELL
    picture = Image.fromarray(image)
    picture.thumbnail((columns * width, rows * height), Image.Resampling.BOX)
    out = io.BytesIO()
    picture.save(out, "PNG")
    place = f"a=p,i={number},p=1,c={columns},r={rows},C=1,q=2"
    return Graphic(
        number,
        columns,
        rows,
        bands=((0, _command(place)),),
        data=_transmission(number, out.getvalue()),
        erase=_command(f"a=d,d=i,i={number},q=2"),
        free=_command(f"a=d,d=I,i={number},q=2"),
        abort=_command("m=0,q=2"),
    )


def _transmission(number: int, png: bytes) -> tuple[str, ...]:
    encoded = base64.b64encode(png).decode("ascii")
    chunks = [encoded[start : start + _CHUNK] for start in range(0, len(encoded), _CHUNK)]
    last = len(chunks) - 1
    heads = [f"a=t,i={number},f=100,q=2,", *["q=2,"] * last]
    return tuple(
        _command(f"{head}m={int(place < last)}", chunk)
        for place, (head, chunk) in enumerate(zip(heads, chunks, strict=True))
    )


def _command(keys: str, payload: str = "") -> str:
    return f"\x1b_G{keys};{payload}\x1b\\" if payload else f"\x1b_G{keys}\x1b\\"
