"""Frames without a screen, as quickly as a processor draws them where there is no GPU.

Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

import os
from typing import Any


def draw_without_screen(frames: bool) -> None:
    """Tell pyglet (MiniWorld) and MuJoCo, before they are imported; what the operator has set wins.

    MuJoCo is told only where there are frames to draw: with ``egl`` it cannot be imported without libEGL.
    """
    os.environ.setdefault("PYGLET_HEADLESS", "true")
    if frames:
        os.environ.setdefault("MUJOCO_GL", "egl")


def draw_plainly(model: Any) -> None:
    """Of a model of MuJoCo's, before its first frame: no shadows, reflections and smoothed edges, which take
    most of a processor's time. Nothing of it bears on the physics."""
    model.vis.quality.shadowsize = model.vis.quality.offsamples = 0
    model.mat_reflectance[:] = 0
