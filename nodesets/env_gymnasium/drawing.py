"""Frames without a screen, as quickly as a processor draws them where there is no GPU."""

from __future__ import annotations

import inspect
import os
from typing import Any, Mapping

SIDE = 240
"""Pixels of a frame of MuJoCo's; its own 480 take a processor three times as long."""


def draw_without_screen(frames: str) -> None:
    """Tell pyglet (MiniWorld) and MuJoCo, before they are imported; what the operator has set wins.

    MuJoCo is told only where there are frames to draw: with ``egl`` it cannot be imported without libEGL.
    """
    os.environ.setdefault("PYGLET_HEADLESS", "true")
    if frames == "render":
        os.environ.setdefault("MUJOCO_GL", "egl")


def frame_size(creator: Any) -> dict[str, int]:
    """Arguments for the size of a frame, of an environment of Gymnasium's MuJoCo; empty of others, where
    ``width`` may be anything."""
    kinds = inspect.getmro(creator) if inspect.isclass(creator) else ()
    return {"width": SIDE, "height": SIDE} if any(kind.__name__ == "MujocoEnv" for kind in kinds) else {}


def prepare(env: Any, asked: Mapping[str, Any]) -> None:
    """Of MuJoCo's environments, before their first frame: no shadows, reflections and smoothed edges, which
    take two thirds of a processor's time, and the model's own camera that follows the body, if it has one.

    Nothing of it bears on the physics. ``asked``: the environment's arguments; a camera among them stays.
    """
    bare = getattr(env, "unwrapped", env)
    model, renderer = getattr(bare, "model", None), getattr(bare, "mujoco_renderer", None)
    if renderer is None or not hasattr(model, "vis"):
        return
    model.vis.quality.shadowsize = model.vis.quality.offsamples = 0
    model.mat_reflectance[:] = 0
    names = [model.camera(number).name for number in range(model.ncam)]
    if "track" in names and not {"camera_id", "camera_name"} & asked.keys():
        renderer.camera_id = names.index("track")
