"""Frames without a screen, as quickly as a processor draws them where there is no GPU.

Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import Any, Iterator

from engine.components.errors import HostFailure, WrongChoice
from engine.components.requirements import Condition

_DRAWS = "(egl|osmesa|glfw)?"
_KNOWN = "(egl|osmesa|glfw|glx|enabled?|on|true|1|disabled?|off|false|0)?"
_UNSET = "unset MUJOCO_GL, for EGL, which draws in software too"


def draw_without_screen(frames: bool) -> None:
    """Tell pyglet (MiniWorld) and MuJoCo, before they are imported; what the operator has set wins.

    MuJoCo is told only where there are frames to draw: with ``egl`` it cannot be imported without libEGL.
    """
    os.environ.setdefault("PYGLET_HEADLESS", "true")
    given = os.environ.get("MUJOCO_GL", "").strip().lower()  # gymnasium's renderer knows small letters alone
    if given or frames:
        os.environ["MUJOCO_GL"] = given or "egl"


def mujoco_draws(tasks: dict[str, str], only_for: str = "") -> tuple[Condition, ...]:
    """What MuJoCo wants of the machine, by MUJOCO_GL. ``tasks``: the patterns of the fields that choose a
    task of MuJoCo's; those with frames have ``render`` in the field ``frames``."""
    plain, frames = {**tasks, "frames": "(none)?"}, {**tasks, "frames": "render"}
    with_frames = f"frames of {only_for}" if only_for else "frames"
    egl, osmesa = ("apt-get install --no-install-recommends " + name for name in ("libegl1", "libosmesa6"))
    drawing, known = "a MUJOCO_GL of egl, osmesa or glfw", "a MUJOCO_GL that MuJoCo knows"
    screen = "a screen for MUJOCO_GL=glfw"
    return (
        Condition(known, _UNSET, plain, only_for, variable="MUJOCO_GL", pattern=f"(?i){_KNOWN}"),
        Condition(drawing, _UNSET, frames, with_frames, variable="MUJOCO_GL", pattern=f"(?i){_DRAWS}"),
        Condition("libEGL", egl, {**frames, "$MUJOCO_GL": ""}, with_frames, library="EGL"),
        Condition("libEGL", egl, {**tasks, "$MUJOCO_GL": "(?i)egl"}, only_for, library="EGL"),
        Condition(
            "libOSMesa",
            f"{osmesa}, or {_UNSET}",
            {**tasks, "$MUJOCO_GL": "(?i)osmesa"},
            only_for,
            library="OSMesa",
        ),
        Condition(screen, _UNSET, {**frames, "$MUJOCO_GL": "(?i)glfw"}, with_frames, variable="DISPLAY"),
    )


@contextmanager
def drawing_explained(frames: bool) -> Iterator[None]:
    """Around what makes, or first draws, what may be MuJoCo's: WrongChoice where it fails and lacks what it
    draws with. Whatever else is raised is raised on."""
    try:
        yield
    except (HostFailure, WrongChoice):
        raise
    except Exception as error:
        settings = {"frames": "render" if frames else "none"}
        loaded = any("mujoco" in name for name in sys.modules) or "MUJOCO" in str(error)
        for condition in mujoco_draws({}) if loaded else ():
            wrong = condition.wrong() if condition.wanted_by(settings) else ""
            if wrong:
                raise WrongChoice(
                    f"MuJoCo needs {condition.what}, and {wrong}: {condition.remedy}"
                ) from error
        raise


def draw_plainly(model: Any) -> None:
    """Of a model of MuJoCo's, before its first frame: no shadows, reflections and smoothed edges, which take
    most of a processor's time. Nothing of it bears on the physics."""
    model.vis.quality.shadowsize = model.vis.quality.offsamples = 0
    model.mat_reflectance[:] = 0
