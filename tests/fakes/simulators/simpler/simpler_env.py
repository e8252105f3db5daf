"""A stand-in for SimplerEnv: its calls, values and shapes, and a hand that has to come down.

Taken down from the sources of SimplerEnv (simpler_env/__init__.py, utils/env/observation_utils.py) and
ManiSkill2_real2sim (envs/sapien_env.py, agents), not from a running simulator.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

__version__ = "0.0.1"
ENVIRONMENTS = ["google_robot_pick_coke_can", "widowx_spoon_on_towel", "widowx_stack_cube"]
CAMERAS = {"google_robot": "overhead_camera", "widowx": "3rd_view_camera"}


class Env:
    """As ``gymnasium.make`` gives it: what is the environment's own is reached through ``unwrapped``."""

    made = 0

    def __init__(self, task: str) -> None:
        Env.made += 1
        self._task = task
        self.spec = SimpleNamespace(max_episode_steps=60)
        self.unwrapped = SimpleNamespace(
            get_language_instruction=lambda: task.partition("_")[2].replace("_", " "),
            robot_uid=task.partition("_")[0],
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._rng = np.random.RandomState(seed)
        placement = ((options or {}).get("obj_init_options") or {}).get("episode_id", 0)
        self._height, self._steps = 0.3 + 0.01 * placement, 0
        return self._observation(), {"episode_id": placement}

    def step(self, action: Any) -> Any:
        assert isinstance(action, np.ndarray)
        assert action.shape == (7,)
        assert np.abs(action[:3]).max() <= 1
        self._steps += 1
        self._height += 0.05 * float(action[2])
        success = self._height <= 0.01
        info = {"elapsed_steps": self._steps, "success": success, "episode_stats": {}}
        return self._observation(), float(success), success, self._steps >= 60, info

    def _observation(self) -> dict[str, Any]:
        camera = next(name for robot, name in CAMERAS.items() if self._task.startswith(robot))
        rgb = np.full((48, 64, 3), self._rng.randint(256), np.uint8)
        depth, masks = np.zeros((48, 64, 1), np.float32), np.zeros((48, 64, 4), np.uint32)
        agent = {"qpos": np.zeros(8), "qvel": np.zeros(8), "controller": {"arm": {}}, "base_pose": np.ones(7)}
        image = {camera: {"rgb": rgb, "depth": depth, "Segmentation": masks}}
        return {"agent": agent, "extra": {}, "camera_param": {}, "image": image}


def make(task_name: str, **kwargs: Any) -> Env:
    assert task_name in ENVIRONMENTS, f"Task {task_name} is not supported. Environments: \n {ENVIRONMENTS}"
    return Env(task_name)
