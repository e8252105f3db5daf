"""How large a frame is, and by which camera."""

from __future__ import annotations

import inspect
import json
from contextlib import contextmanager
from typing import Any, Iterator, Mapping

from engine.components import WrongChoice
from engine.components.drawing import draw_plainly, drawing_explained

SIDE = 240
"""Pixels of a frame of MuJoCo's; its own 480 take a processor three times as long."""


def frame_size(creator: Any) -> dict[str, int]:
    """Arguments for the size of a frame, of an environment of Gymnasium's MuJoCo; empty of others, where
    ``width`` may be anything."""
    kinds = inspect.getmro(creator) if inspect.isclass(creator) else ()
    return {"width": SIDE, "height": SIDE} if any(kind.__name__ == "MujocoEnv" for kind in kinds) else {}


def prepare(env: Any, asked: Mapping[str, Any]) -> None:
    """Of MuJoCo's environments, before their first frame: drawn plainly, and by the model's own camera that
    follows the body, if it has one. ``asked``: the environment's arguments; a camera among them stays.
    WrongChoice where there is no such camera, for which MuJoCo would take its free one."""
    bare = getattr(env, "unwrapped", env)
    model, renderer = getattr(bare, "model", None), getattr(bare, "mujoco_renderer", None)
    if renderer is None or not hasattr(model, "vis"):
        return
    draw_plainly(model)
    names = [model.camera(number).name for number in range(model.ncam)]
    name, number = asked.get("camera_name"), asked.get("camera_id")
    if name is not None and name not in names:
        known = ", ".join(names) or "none: its model has no cameras"
        raise WrongChoice(f"selector env_kwargs: camera_name is {name!r}; it takes {known}")
    if number is not None and number not in range(-1, model.ncam):
        raise WrongChoice(f"selector env_kwargs: camera_id is {number!r}; it takes -1 to {model.ncam - 1}")
    if "track" in names and not {"camera_id", "camera_name"} & asked.keys():
        renderer.camera_id = names.index("track")


@contextmanager
def first_frame(env_id: str, asked: Mapping[str, Any]) -> Iterator[None]:
    """Around the drawing of an episode's first: WrongChoice where what frames are drawn with is not there, or
    where the arguments that were ``asked`` for may be to blame."""
    try:
        with drawing_explained(frames=True):
            yield
    except WrongChoice:
        raise
    except ImportError as error:
        raise WrongChoice(f"{env_id} cannot draw frames: {error}: run it with frames=none") from error
    except Exception as error:
        if not asked or isinstance(error, (OSError, MemoryError)):
            raise
        chosen = f"selector env_kwargs is {json.dumps(dict(asked), default=str)}"
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise WrongChoice(f"{chosen}: {env_id} draws no frame with that: {told}") from error
