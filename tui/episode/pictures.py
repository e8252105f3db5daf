"""Images of an episode's folder, in characters or pixels. For a thread; numpy and Pillow come when asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.segment import Segment
from rich.style import Style

from engine.store.assets import Asset
from tui.images.graphic import Graphic, new_number

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

Way = Literal["blocks", "ascii", "kitty", "sixel"]
Cell = tuple[int, int]
GAP = 2


@dataclass(frozen=True)
class Picture:
    """name: its port. lines: of segments, each with a style. graphic: what lies over these, where it is in
    pixels. problem: why there are none."""

    name: str
    lines: tuple[tuple[Segment, ...], ...] = ()
    width: int = 0
    problem: str = ""
    graphic: Graphic | None = None


def pictures_of(
    assets: Sequence[Asset], columns: int, rows: int, way: Way, *, most: int, cell: Cell | None = None
) -> tuple[Picture, ...]:
    """At most ``most`` of them side by side, the largest first, each with a line for its name. cell: its
    pixels, which sixel must know."""
    chosen = sorted(assets, key=lambda asset: -_pixels(asset))[:most]
    if not chosen or columns < 4 or rows < 2:
        return ()
    share = (columns - GAP * (len(chosen) - 1)) // len(chosen)
    return tuple(_picture(asset, share, rows - 1, way, cell) for asset in chosen)


def _picture(asset: Asset, columns: int, rows: int, way: Way, cell: Cell | None) -> Picture:
    from tui.half_blocks import MAX_FILE_BYTES, ImageError, ascii_blocks, decode_image, half_blocks

    size = "×".join(map(str, asset.shape[1::-1])) if len(asset.shape) >= 2 else ""
    name = f"{asset.port.partition('.')[2] or asset.port} {size}".rstrip()
    try:
        if not asset.path.is_file():
            return Picture(name, width=columns, problem=f"{asset.path.name} is not there")
        with open(asset.path, "rb") as file:
            image = decode_image(file.read(MAX_FILE_BYTES + 1))
    except (ImageError, OSError) as error:
        return Picture(name, width=columns, problem=f"{asset.path.name}: {error}")
    graphic = None
    if way in {"kitty", "sixel"}:
        graphic = _graphic(image, columns, rows, way, cell)
        drawn = graphic.lines()
    elif way == "blocks":
        drawn = [tuple(line) for line in half_blocks(image, columns, rows)]
    else:
        drawn = [(Segment(line, Style.null()),) for line in ascii_blocks(image, columns, rows)]
    width = max((sum(len(segment.text) for segment in line) for line in drawn), default=0)
    return Picture(name, tuple(drawn), max(width, min(columns, len(name))), graphic=graphic)


def _graphic(image: NDArray[numpy.uint8], columns: int, rows: int, way: Way, cell: Cell | None) -> Graphic:
    from tui.half_blocks import fit
    from tui.images.kitty import kitty_graphic
    from tui.images.sixel import sixel_graphic

    height, width = image.shape[:2]
    across, down = fit(width, height, columns, rows, shape=cell[1] / cell[0] if cell else 2.0)
    if way == "sixel" and cell is not None:
        return sixel_graphic(image, new_number(), across, down, cell)
    return kitty_graphic(image, new_number(), across, down, cell)


def _pixels(asset: Asset) -> int:
    return asset.shape[0] * asset.shape[1] if len(asset.shape) >= 2 else 0
