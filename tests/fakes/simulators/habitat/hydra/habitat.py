"""habitat-lab 0.3.4, whose configuration is Hydra's: lower case below ``habitat``, and texts NAME=VALUE."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))
import habitat_world
from habitat_world import Env  # noqa: F401

__version__ = "0.3.4"
_FILES = {
    "benchmark/nav/vln_r2r.yaml": ("R2RVLN-v1", 15, 3.0),
    "benchmark/nav/objectnav/objectnav_hm3d.yaml": ("ObjectNav-v1", 30, 0.1),
}


def get_config(config_path: str, overrides: list[str] | None = None, configs_dir: str = "") -> Any:
    kind, turn, radius = _FILES[config_path]
    values = {
        "habitat.dataset.split": "train",
        "habitat.environment.iterator_options.shuffle": "True",
        "habitat.environment.max_episode_steps": "500",
    }
    for override in overrides or []:
        name, _, value = override.partition("=")
        if name not in values:
            raise KeyError(f"Could not override '{name}'")
        values[name] = value
    assert values["habitat.environment.iterator_options.shuffle"] == "False"
    data = SimpleNamespace(split=values["habitat.dataset.split"], type=kind)
    steps = int(values["habitat.environment.max_episode_steps"])
    names = ["stop", "move_forward", "turn_left", "turn_right"]
    names += ["look_up", "look_down"] if kind == "ObjectNav-v1" else []
    success = SimpleNamespace(success_distance=radius)
    return SimpleNamespace(
        habitat=SimpleNamespace(
            dataset=data,
            task=SimpleNamespace(measurements=SimpleNamespace(success=success)),
            environment=SimpleNamespace(max_episode_steps=steps),
            simulator=SimpleNamespace(forward_step_size=0.25),
        ),
        facts=SimpleNamespace(kind=kind, data=data, forward=0.25, turn=turn, actions=names, max_steps=steps),
    )


habitat_world.install(get_config)
