"""An image as the terminal is told it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from rich.segment import Segment
from rich.style import Style

_KEY = "image"
_numbers = count(1)


def new_number() -> int:
    """Of an image, on the terminal and in its cells."""
    return next(_numbers)


@dataclass(frozen=True, eq=False)
class Graphic:
    """It takes ``columns`` × ``rows`` cells, which are blank and know its number: where they stand whole, it
    is drawn. data: sent once. bands: sent wherever it is drawn, each with the cursor ``row`` cells below the
    first. erase: takes it from the screen, where what is written over it does not. free: forgets its data.
    abort: ends data that was cut short.
    """

    number: int
    columns: int
    rows: int
    bands: tuple[tuple[int, str], ...]
    data: tuple[str, ...] = ()
    erase: str = ""
    free: str = ""
    abort: str = ""

    def lines(self) -> list[tuple[Segment, ...]]:
        cells = Segment(" " * self.columns, Style(meta={_KEY: self.number}))
        return [(cells,)] * self.rows


@lru_cache(maxsize=2048)
def number_in(style: Style | None) -> int | None:
    """The image that a cell of this style belongs to."""
    return style.meta.get(_KEY) if style is not None else None
