"""Tables behind the agent's eye: what each pixel may show, worked out once.

The eye stands in the middle of a cell and looks along an axis, with a field of view of 90 degrees, so all
that a ray can meet is known beforehand. No trigonometry enters, so the tables are the same on every
machine. A pixel is RGBX in one little-endian word; columns come first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .house import HEIGHT, ROOM_NAMES, WIDTH, neighbours
from .palette import CEILING, COLOURS, DOORWAY, RGB, ROOMS, SPRITES

SIZE = 64
HALF = SIZE // 2
EYE = 0.8
"""Eye height in cells; walls are twice as high, so the horizon is half way up both."""
SPRITE_SIDE = 0.75
REACH = max(WIDTH, HEIGHT)
STRIDE = WIDTH + 2 * REACH
"""Row length of a house's map with a margin of REACH around it."""
WORD = np.dtype("<u4")
NO_WALL = 255

_SHADES = 8
_LOOKS = [DOORWAY, *(ROOMS[name] for name in ROOM_NAMES), DOORWAY]
"""By material; WALL itself is never looked up."""


class Rays(NamedTuple):
    """The cells that each column's ray passes, the eye's own first, and at what depth; all (64, K)."""

    forward: np.ndarray
    right: np.ndarray
    depth: np.ndarray
    lateral: np.ndarray


def pack(colour: RGB, brightness: float = 1.0) -> int:
    """A pixel."""
    red, green, blue = (int(channel * brightness) for channel in colour)
    return red | green << 8 | blue << 16 | 255 << 24


def map_offsets(forward: np.ndarray, right: np.ndarray) -> list[np.ndarray]:
    """For each heading, where cells at (forward, right) of the eye lie in the flat map, from its own."""
    steps = [y * STRIDE + x for x, y in neighbours((0, 0))]
    return [forward * steps[heading] + right * steps[(heading + 1) % 4] for heading in range(4)]


def cast_rays() -> Rays:
    """Every ray up to REACH, far enough to meet the outer wall from anywhere."""
    rows = [_ray(_slope(column)) for column in range(SIZE)]
    longest = max(map(len, rows))
    table = np.array([row + row[-1:] * (longest - len(row)) for row in rows])
    return Rays(table[..., 0].astype(int), table[..., 1].astype(int), table[..., 2], table[..., 3] > 0)


def wall_codes(rays: Rays) -> np.ndarray:
    """(64, K, 64) uint8: columns of ``wall_colours`` if the ray meets its wall at cell k, or NO_WALL."""
    heights = np.abs(np.arange(SIZE) + 0.5 - HALF)
    level = heights * rays.depth[..., None] / (HALF * EYE)
    lower = np.arange(SIZE) >= HALF
    shade = np.minimum(_SHADES - 1, (rays.depth / 2.5).astype(int) + 2 * rays.lateral)
    codes = np.where(lower & (level > 0.85), _SHADES, 0) + shade[..., None]
    return np.where(level < 1.0, codes, NO_WALL).astype(np.uint8)


def wall_colours() -> np.ndarray:
    """(materials, 2 x shades) words: the wall of each room, then its skirting board."""
    return np.array(
        [
            [pack(look.wall, part * _light(s)) for part in (1.0, 0.55) for s in range(_SHADES)]
            for look in _LOOKS
        ],
        WORD,
    )


def floor_points() -> tuple[np.ndarray, np.ndarray]:
    """(forward, right) in cells of the floor under each pixel of the lower half; (64, 32) each."""
    depth = np.minimum(HALF * EYE / (np.arange(HALF) + 0.5), REACH - 1)
    slopes = np.array([_slope(column) for column in range(SIZE)])
    return np.broadcast_to(depth, (SIZE, HALF)), slopes[:, None] * depth


def floor_colours() -> list[np.ndarray]:
    """For each heading (materials, 64, 32) words: the lower half, were all of it of that material."""
    forward, right = floor_points()
    light = [_light(s) for s in range(_SHADES)]
    shade = np.minimum(_SHADES - 1, (forward / 2.5).astype(int))
    tables = []
    for east, south in ((right, -forward), (forward, right), (-right, forward), (-forward, -right)):
        checks = (np.floor(east * 2) + np.floor(south * 2)) % 2 == 1
        pattern = {"plain": np.zeros_like(checks), "checks": checks, "planks": np.floor(south * 4) % 2 == 1}
        one = np.array([[pack(look.floor, b) for b in light] for look in _LOOKS], WORD)
        other = np.array([[pack(look.floor_alt, b) for b in light] for look in _LOOKS], WORD)
        layers = [
            np.where(pattern[look.pattern], other[m][shade], one[m][shade]) for m, look in enumerate(_LOOKS)
        ]
        tables.append(np.stack(layers))
    return tables


def ceiling() -> np.ndarray:
    """(32,) words: the upper half of every column, darker towards the horizon."""
    return np.array([pack(CEILING, 1 - 0.4 * row / HALF) for row in range(HALF)], WORD)


def sprites() -> dict[tuple[str, str], np.ndarray]:
    """Texels of each (kind, colour), columns first; 0 is see-through."""
    table = {}
    for kind, art in SPRITES.items():
        for name, (red, green, blue) in COLOURS.items():
            lit = ((red + 255) // 2, (green + 255) // 2, (blue + 255) // 2)
            plain = (red, green, blue)
            inks = {"#": pack(plain), "+": pack(lit), "-": pack(plain, 0.65), "o": pack((45, 40, 40)), ".": 0}
            table[kind, name] = np.array([[inks[mark] for mark in row] for row in art], WORD).T.ravel()
    return table


@lru_cache(maxsize=None)
def sprite_place(forward: int, right: int) -> tuple[slice, slice, np.ndarray]:
    """Where an object at (forward, right) is drawn: columns, rows, and the texel under each pixel."""
    scale = HALF / forward
    side = SPRITE_SIDE * scale
    left, top = HALF + scale * right - side / 2, HALF + scale * EYE - side
    columns, across = _stretch(left, side)
    rows, down = _stretch(top, side)
    return columns, rows, across[:, None] * len(SPRITES["ball"]) + down


def _stretch(start: float, side: float) -> tuple[slice, np.ndarray]:
    """The pixels that lie in [start, start + side), and the texel of each."""
    texels = len(SPRITES["ball"])
    pixels = slice(max(0, round(start)), max(0, min(SIZE, round(start + side))))
    where = (np.arange(pixels.start, pixels.stop) + 0.5 - start) / side * texels
    return pixels, np.clip(where.astype(int), 0, texels - 1)


def _ray(slope: float) -> list[tuple[int, int, float, bool]]:
    """(forward, right, depth, entered through a lateral face) of each cell. No ray goes through a corner."""
    faces = [(n + 0.5, False) for n in range(REACH)] + [((n + 0.5) / abs(slope), True) for n in range(REACH)]
    forward, right, row = 0, 0, [(0, 0, 0.0, False)]
    for depth, lateral in sorted(face for face in faces if face[0] < REACH):
        forward, right = (forward, right + (1 if slope > 0 else -1)) if lateral else (forward + 1, right)
        row.append((forward, right, depth, lateral))
    return row


def _slope(column: int) -> float:
    return (column + 0.5 - HALF) / HALF


def _light(shade: int) -> float:
    return 1.0 - 0.07 * shade
