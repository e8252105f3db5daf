"""The agent's eye: a 64 x 64 RGB first-person frame, made by a few look-ups in the tables of ``optics``."""

from __future__ import annotations

import numpy as np

from . import optics
from .house import WALL, House, ahead_and_aside
from .optics import HALF, NO_WALL, REACH, SIZE, STRIDE

_COLUMNS = np.arange(SIZE)
_RAYS = optics.cast_rays()
_PASSED = optics.map_offsets(_RAYS.forward, _RAYS.right)
_WALL_CODES = optics.wall_codes(_RAYS)
_WALL_COLOURS = optics.wall_colours()
_FLOOR_CELLS = optics.map_offsets(*(np.rint(part).astype(int) for part in optics.floor_points()))
_FLOOR_COLOURS = optics.floor_colours()
_FLOOR_PIXELS = np.arange(SIZE * HALF).reshape(SIZE, HALF)
_CEILING = optics.ceiling()
_SPRITES = optics.sprites()


class Eye:
    """Looks at one house."""

    def __init__(self, house: House) -> None:
        self._map = np.pad(house.material, REACH, constant_values=WALL).ravel()
        self._things = [(thing.cell, _SPRITES[thing.kind, thing.colour]) for thing in house.things]

    def frame(self, x: int, y: int, heading: int) -> np.ndarray:
        """(64, 64, 3) uint8 RGB, as seen from the middle of the cell (x, y)."""
        here = (y + REACH) * STRIDE + x + REACH
        passed = self._map[_PASSED[heading] + here]
        met = (passed == WALL).argmax(axis=1)
        codes = _WALL_CODES[_COLUMNS, met]
        faced = passed[_COLUMNS, met - 1]
        floor = self._map[_FLOOR_CELLS[heading] + here]
        picture = np.empty((SIZE, SIZE), optics.WORD)
        picture[:, :HALF] = _CEILING
        picture[:, HALF:] = _FLOOR_COLOURS[heading].reshape(len(_WALL_COLOURS), -1)[floor, _FLOOR_PIXELS]
        wall = codes != NO_WALL
        np.copyto(picture, _WALL_COLOURS[faced[:, None], codes * wall], where=wall)
        self._draw_things(picture, _RAYS.depth[_COLUMNS, met], (x, y), heading)
        rows_first = np.ascontiguousarray(picture.T).view(np.uint8).reshape(SIZE, SIZE, 4)
        return np.ascontiguousarray(rows_first[..., :3])

    def _draw_things(
        self, picture: np.ndarray, depth: np.ndarray, eye: tuple[int, int], heading: int
    ) -> None:
        """Objects stand in the middle of their cells and face the eye; the far ones are drawn first."""
        seen = []
        for cell, texels in self._things:
            forward, right = ahead_and_aside(cell, eye, heading)
            if forward > 0 and abs(right) <= forward:
                seen.append((forward, right, texels))
        for forward, right, texels in sorted(seen, key=lambda thing: -thing[0]):
            columns, rows, where = optics.sprite_place(forward, right)
            ink = texels[where]
            near = depth[columns] > forward
            np.copyto(picture[columns, rows], ink, where=(ink != 0) & near[:, None])
