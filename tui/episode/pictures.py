"""Images of an episode's folder as lines of characters. For a thread; imports numpy and Pillow when asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.segment import Segment
from rich.style import Style

from tui.logfile.assets import Asset

Way = Literal["half", "ascii"]
GAP = 2


@dataclass(frozen=True)
class Picture:
    """name: its port. lines: of segments, each with a style. problem: why there are none."""

    name: str
    lines: tuple[tuple[Segment, ...], ...] = ()
    width: int = 0
    problem: str = ""


def pictures_of(
    assets: Sequence[Asset], columns: int, rows: int, way: Way, *, most: int
) -> tuple[Picture, ...]:
    """At most ``most`` of them side by side, the largest first, each with a line for its name."""
    chosen = sorted(assets, key=lambda asset: -_pixels(asset))[:most]
    if not chosen or columns < 4 or rows < 2:
        return ()
    share = (columns - GAP * (len(chosen) - 1)) // len(chosen)
    return tuple(_picture(asset, share, rows - 1, way) for asset in chosen)


def _picture(asset: Asset, columns: int, rows: int, way: Way) -> Picture:
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
    if way == "half":
        drawn = [tuple(line) for line in half_blocks(image, columns, rows)]
    else:
        drawn = [(Segment(line, Style.null()),) for line in ascii_blocks(image, columns, rows)]
    width = max((sum(len(segment.text) for segment in line) for line in drawn), default=0)
    return Picture(name, tuple(drawn), max(width, min(columns, len(name))))


def _pixels(asset: Asset) -> int:
    return asset.shape[0] * asset.shape[1] if len(asset.shape) >= 2 else 0
