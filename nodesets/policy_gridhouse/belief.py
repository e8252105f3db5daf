"""What the policy remembers: a map around itself of what it has seen, turned and shifted as it moves.

A belief is (6, SIDE, SIDE) float32: votes for WALL to OBJECT on each cell around the agent, which stands in
the middle and faces up. An egocentric semantic map as in Chaplot et al. 2020, arXiv:2007.00643. Everything
is element by element over the batch, so a row's bits do not depend on the rows around it.
"""

from __future__ import annotations

import numpy as np

from .network import ACROSS, AHEAD

UNSEEN, WALL, NAMED, FLOOR, DOOR, TARGET, OBJECT = range(7)
"""What may be on a cell. NAMED is the floor of the target's room, TARGET what the instruction speaks of."""
KINDS = 7
SIDE = 27
MIDDLE = SIDE // 2
FORWARD, LEFT, RIGHT = 1, 2, 3

KNOWN = np.float32(0.3)
"""A cell with fewer votes counts as unseen."""
_ROWS = slice(MIDDLE - AHEAD + 1, MIDDLE + 1)
_COLUMNS = slice(MIDDLE - ACROSS // 2, MIDDLE + ACROSS // 2 + 1)
_FADE = np.float32(0.7)
_COLOURS = np.array(
    [
        (0, 0, 0),
        (120, 120, 125),
        (90, 190, 110),
        (205, 195, 175),
        (140, 95, 55),
        (230, 40, 40),
        (70, 110, 220),
    ],
    np.uint8,
)
_UNDERFOOT = np.array([0, 1, 1, 1, 0, 0], np.float32)


def observe(belief: np.ndarray, glimpse: np.ndarray) -> np.ndarray:
    """Beliefs (B, 6, SIDE, SIDE) after glimpses (B, AHEAD, ACROSS, KINDS), probabilities that sum to 1.

    The more surely a cell is seen, the more its old votes fade. Where the agent stands nothing else is.
    """
    seen = glimpse[:, ::-1].transpose(0, 3, 1, 2)
    after = belief.copy()
    window = after[:, :, _ROWS, _COLUMNS]
    window *= 1 - _FADE * (1 - seen[:, :1])
    window += seen[:, 1:]
    after[:, :, MIDDLE, MIDDLE] *= _UNDERFOOT
    return after


def move(belief: np.ndarray, action: int) -> np.ndarray:
    """One belief (6, SIDE, SIDE) after an action that does what it should, and nothing into a wall."""
    if action == LEFT:
        return np.rot90(belief, -1, (1, 2)).copy()
    if action == RIGHT:
        return np.rot90(belief, 1, (1, 2)).copy()
    ahead = belief[:, MIDDLE - 1, MIDDLE]
    if action == FORWARD and ahead @ _UNDERFOOT * 2 >= ahead.sum():
        shifted = np.zeros_like(belief)
        shifted[:, 1:] = belief[:, :-1]
        return shifted
    return belief


def picture(belief: np.ndarray) -> np.ndarray:
    """(SIDE, SIDE, 3) uint8 RGB of one belief: the likeliest kind of each cell, and the agent in yellow."""
    votes = belief.sum(axis=0)
    kinds = np.where(votes > KNOWN, belief.argmax(axis=0) + 1, UNSEEN)
    shown = _COLOURS[kinds]
    shown[MIDDLE, MIDDLE] = (255, 220, 0)
    return shown
