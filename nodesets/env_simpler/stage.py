"""The scene of this process, and the episode in it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.components import Stage, foreign_imports

SPLITS = {
    "bridge": ("widowx_", "3rd_view_camera", 24),
    "google_robot": ("google_robot_", "overhead_camera", 50),
}
"""(prefix of its tasks, the camera of its policies, episodes: WidowX's tasks have 24 placements)."""

LOW = np.array([-1, -1, -1, -math.pi / 2, -math.pi / 2, -math.pi / 2, -1], np.float32)


class SimplerStage(Stage):
    """A scene is kept for the next episode of its task: making many crashes the renderer."""

    scenes_are_tasks = True

    def __init__(self) -> None:
        super().__init__()
        self.task = ""

    def options(self, field: str) -> list[str]:
        if field == "task_id":
            return [
                task for task in _library().ENVIRONMENTS if task.startswith(SPLITS[self.choice("split")][0])
            ]
        return list(SPLITS)

    def episode_counts(self) -> dict[str, int]:
        return {split: count for split, (_, _, count) in SPLITS.items()}

    def set_up(self) -> None:
        task = self.choice("task_id")
        if task != self.task:
            self.close()
            self.env, self.task = _library().make(task), task
        self.split, self.index = self.choice("split"), self.number("episode_index")
        self.seed = self.number("seed") % 2**32
        self.restart()

    def restart(self) -> None:
        """Put the scene at the start of the episode."""
        chosen = {"obj_init_options": {"episode_id": self.index}}  # of the tasks that have placements
        self.observation, _ = self.env.reset(seed=self.seed, options=chosen)
        self.steps, self.reward, self.success, self.ended, self.truncated = 0, 0.0, False, False, False

    def act(self, actions: np.ndarray) -> None:
        """(K, 7) actions, clipped to what the robots take, until the episode ends; none once it has.

        An action: metres (3), radians about three axes (3), and the gripper, from -1 closed to 1 open.
        """
        for action in np.clip(actions, LOW, -LOW):
            if not self.ended:
                self.observation, reward, done, limit, info = self.env.step(action)
                self.steps, self.reward = self.steps + 1, self.reward + float(reward)
                self.success = bool(info.get("success", done))
                self.truncated = bool(limit) and not self.success
                self.ended = bool(done or limit)

    def image(self) -> np.ndarray:
        """(H, W, 3) uint8, of the robot's usual camera."""
        return np.ascontiguousarray(
            self.observation["image"][SPLITS[self.split][1]]["rgb"][..., :3], np.uint8
        )

    def proprioception(self) -> np.ndarray:
        """(D,) float32: joint positions, joint velocities and base pose, one after the other."""
        told = [value for value in self.observation["agent"].values() if isinstance(value, np.ndarray)]
        return np.concatenate([np.ravel(value) for value in told]).astype(np.float32)

    def step_budget(self) -> int:
        return int(self.env.spec.max_episode_steps)

    def facts(self) -> dict[str, Any]:
        if self.env is None:
            return {}
        told = {"split": self.split, "task_id": self.task, "scene_id": self.task}
        told["episode_id"] = f"{self.split}/{self.task}/{self.index}"
        instruction = str(self.env.unwrapped.get_language_instruction())
        return dict(told, instruction=instruction, max_steps=self.step_budget())

    def metrics(self) -> dict[str, float]:
        told = {"success": float(self.success), "cumulative_reward": self.reward}
        return dict(told, num_steps=float(self.steps))

    def close(self) -> None:
        """Let go of the scene. Its own ``close`` frees no more than this, and is known to crash."""
        self.env, self.task = None, ""


def _library() -> Any:
    with foreign_imports():
        import simpler_env

        return simpler_env
