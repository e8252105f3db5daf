"""What the instruction makes of what is seen: which floor is the named room's, which object is the target."""

from __future__ import annotations

import re

import numpy as np

from .network import COLOURS, ROOMS, SHAPES


def listen(instruction: str) -> np.ndarray:
    """(len(ROOMS) + len(COLOURS) + len(SHAPES),) float32: 1 for each class that may be meant, else 0.

    Where no room, no colour or no shape is said, any may be meant.
    """
    said = set(re.findall(r"[a-z]+", instruction.lower()))
    meant = [[name in said for name in names] for names in (ROOMS, COLOURS, SHAPES)]
    return np.concatenate([flags if any(flags) else [True] * len(flags) for flags in meant]).astype(
        np.float32
    )


def understand(
    surfaces: np.ndarray, colours: np.ndarray, shapes: np.ndarray, meant: np.ndarray
) -> np.ndarray:
    """(B, AHEAD, ACROSS, KINDS) probabilities of ``belief``'s kinds.

    The first three are a glimpse's logits; ``meant`` is a ``listen`` for each row.
    """
    surface, colour, shape = _softmax(surfaces), _softmax(colours), _softmax(shapes)
    room_meant, colour_meant, shape_meant = np.split(
        meant[:, None, None], (len(ROOMS), len(ROOMS) + len(COLOURS)), axis=-1
    )
    floors = surface[..., -len(ROOMS) :]
    named = (floors * room_meant).sum(axis=-1)
    match = (colour * colour_meant).sum(axis=-1) * (shape * shape_meant).sum(axis=-1)
    unseen, wall, door, thing = (surface[..., index] for index in range(4))
    kinds = (unseen, wall, named, floors.sum(axis=-1) - named, door, thing * match, thing * (1 - match))
    return np.stack(kinds, axis=-1)


def _softmax(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)
