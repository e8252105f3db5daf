"""What the policy does: walk to the target that it believes in, else to the nearest place not seen yet.

Each place has a price for ending there, and each step onto a cell another; the cheapest way from where the
agent stands decides. Prices spread over the belief from all places at once until nothing changes. A row that
has settled stays as it is, so its bits do not depend on how long the rows around it take.
"""

from __future__ import annotations

import numpy as np

from .belief import KNOWN, MIDDLE, NAMED, OBJECT, TARGET, WALL

_SURE, _IN_ROOM = np.float32(0.35), np.float32(0.5)
_OUTSIDE = np.float32(1e3)
"""The price of what lies beyond the map, and of the agent's own cell as a way elsewhere."""
_TARGET = np.float32(-100)
_UNSEEN, _UNSEEN_IN_ROOM = np.float32(8), np.float32(4)
_GIVE_UP, _GIVE_UP_IN_ROOM, _LIKENESS = np.float32(60), np.float32(40), np.float32(25)
"""Giving up is cheaper beside an object that looks like the target, and dearer than what is left to see."""
_BLOCKED = np.float32(40)
"""Of a step onto a cell that is not walkable."""
_TURNS = np.array([0, 1, 1, 2], np.float32)
"""Of the turns before a step ahead, to the left, to the right, back."""


def action_values(belief: np.ndarray) -> np.ndarray:
    """(B, 4) float32: how good it is to stop, go forward, turn left, turn right; minus the cheapest price.

    ``belief``: (B, 6, SIDE, SIDE) float32.
    """
    votes = belief.sum(axis=1)
    known = votes > KNOWN
    share = np.where(known[:, None], belief / np.maximum(votes, KNOWN)[:, None], np.float32(0))
    blocked = share[:, WALL - 1] + share[:, TARGET - 1] + share[:, OBJECT - 1]
    stay = _price_of_ending(share, known)
    step = 1 + _BLOCKED * blocked * blocked
    step[:, MIDDLE, MIDDLE] = _OUTSIDE
    arrival = _spread(stay, step, known)
    neighbours = [(MIDDLE - 1, MIDDLE), (MIDDLE, MIDDLE - 1), (MIDDLE, MIDDLE + 1), (MIDDLE + 1, MIDDLE)]
    ahead, left, right, back = (arrival[:, y, x] + turn for (y, x), turn in zip(neighbours, _TURNS))
    return -np.stack((stay[:, MIDDLE, MIDDLE], ahead, left, np.minimum(right, back)), axis=1)


def _price_of_ending(share: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(B, SIDE, SIDE), for each cell."""
    in_room = share[:, NAMED - 1]
    beside = _around(np.maximum, share[:, TARGET - 1], 0)
    unseen = _UNSEEN - (_UNSEEN - _UNSEEN_IN_ROOM) * _around(np.maximum, in_room, 0)
    found = (in_room > _IN_ROOM) & (beside > _SURE)
    give_up = np.where(in_room > _IN_ROOM, _GIVE_UP_IN_ROOM, _GIVE_UP) - _LIKENESS * beside
    return np.where(known, np.where(found, _TARGET, give_up), unseen)


def _spread(stay: np.ndarray, step: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(B, SIDE, SIDE): the cheapest price of stepping onto each cell and going on; nobody goes on from the
    unseen.

    The test is for a decrease, not for a difference: a row of NaN must not keep it going.
    """
    arrival = stay + step
    while True:
        onward = np.where(known, np.minimum(stay, _around(np.minimum, arrival, _OUTSIDE)), stay)
        cheaper = onward + step
        if not (cheaper < arrival).any():
            return arrival
        arrival = cheaper


def _around(best: np.ufunc, values: np.ndarray, outside: float) -> np.ndarray:
    """The best of each cell's four neighbours."""
    count, height, width = values.shape
    padded = np.full((count, height + 2, width + 2), outside, np.float32)
    padded[:, 1:-1, 1:-1] = values
    up_down = best(padded[:, :-2, 1:-1], padded[:, 2:, 1:-1])
    return best(up_down, best(padded[:, 1:-1, :-2], padded[:, 1:-1, 2:]))
