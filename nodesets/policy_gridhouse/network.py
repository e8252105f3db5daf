"""What the policy sees: a small network from a frame to what is on each of the cells ahead.

Layers of patches, each a product of its own. Written once, for numpy, which runs it, and for torch, which
trains it. A batch is a stack of small products and never one large one, so that a row's bits do not depend
on the rows around it.
"""

from __future__ import annotations

from typing import Any

ROOMS = ("kitchen", "bedroom", "bathroom", "living", "study", "dining", "garage", "nursery")
COLOURS = ("red", "green", "blue", "yellow", "purple", "orange")
SHAPES = ("ball", "box", "chair", "lamp", "vase")
SURFACES = ("unseen", "wall", "door", "object", *ROOMS)
"""What may be on a cell; a room's name stands for its floor."""
AHEAD, ACROSS = 6, 7
"""A glimpse covers AHEAD cells forward, the agent's own the first, and ACROSS from left to right."""

_FINE, _MIDDLE, _COARSE, _SEEN = 24, 48, 48, 112
LAYERS: dict[str, tuple[int, int]] = {
    "fine": (4 * 4 * 3, _FINE),
    "middle": (2 * 2 * _FINE, _MIDDLE),
    "coarse": (2 * 2 * _MIDDLE, _COARSE),
    "seen": (4 * 4 * _COARSE, _SEEN),
    "cells": (_SEEN, AHEAD * ACROSS * (len(SURFACES) + len(COLOURS) + len(SHAPES))),
}
"""The shape of each layer's matrix; its bias has ``_bias`` added to its name."""


def glimpse(weights: dict[str, Any], frames: Any) -> tuple[Any, Any, Any]:
    """Logits of each cell's surface, and of the colour and shape of the object there, if there is one.

    ``frames``: (B, 64, 64, 3) float32 in [-0.5, 0.5]. Each result is (B, AHEAD, ACROSS, classes): the
    nearest row first, from left to right.
    """
    seen = _relu(_patches(frames, 4, weights, "fine"))
    seen = _relu(_patches(seen, 2, weights, "middle"))
    seen = _relu(_patches(seen, 2, weights, "coarse"))
    seen = _relu(seen.reshape(-1, 1, 4 * 4 * _COARSE) @ weights["seen"] + weights["seen_bias"])
    cells = (seen @ weights["cells"] + weights["cells_bias"]).reshape(len(frames), AHEAD, ACROSS, -1)
    surfaces, colours = len(SURFACES), len(SURFACES) + len(COLOURS)
    return cells[..., :surfaces], cells[..., surfaces:colours], cells[..., colours:]


def _patches(values: Any, side: int, weights: dict[str, Any], name: str) -> Any:
    """Make each square of side x side one: (B, H, W, C) to (B, H / side, W / side, C')."""
    _, height, width, channels = values.shape
    rows, columns = height // side, width // side
    squares = values.reshape(-1, rows, side, columns, side, channels).swapaxes(2, 3)
    flat = squares.reshape(-1, rows * columns, side * side * channels)
    made = flat @ weights[name] + weights[name + "_bias"]
    return made.reshape(-1, rows, columns, made.shape[-1])


def _relu(values: Any) -> Any:
    return values * (values > 0)
