"""The scene of this process, and the episode in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.components import SeededStage, foreign_imports

OBS_MODES = ("state", "state_dict", "rgb", "rgbd")


class ManiSkillStage(SeededStage):
    """Keeps its scene for the next episode, as long as task, observation and control are the same."""

    def __init__(self) -> None:
        super().__init__()
        self._opened: tuple[str, ...] = ()
        self._env: Any = None
        self._limit = 0

    def options(self, field: str) -> list[str]:
        return list(OBS_MODES) if field == "obs_mode" else super().options(field)

    def set_up(self) -> None:
        wanted = self.text("task") or "PickCube-v1", self.choice("obs_mode"), self.text("control_mode")
        if wanted != self._opened:
            self.close()
            self._open(*wanted)
            self._opened = wanted
        self.restart()

    def restart(self) -> None:
        """Put the scene at the start of the episode."""
        seen, _ = self._env.reset(seed=self.number("seed") % 2**31)
        self.observation = _plain(seen)
        self.steps, self.total, self.success, self.terminated, self.truncated = 0, 0.0, False, False, False

    def act(self, action: Any) -> float:
        """One action, numbers in the shape of ``space``; its reward. RuntimeError once the episode ended."""
        if self.terminated or self.truncated:
            raise RuntimeError("the episode is over: reset it first")
        numbers = np.asarray(action, np.float32)
        if numbers.shape != self.space.shape or not np.isfinite(numbers).all():
            raise ValueError(
                f"an action of shape {numbers.shape} is not finite numbers of {self.space.shape}"
            )
        seen, reward, ended, limit, info = self._env.step(numbers)
        self.observation, self.steps = _plain(seen), self.steps + 1
        self.success = bool(_plain(info["success"]))
        self.terminated = bool(_plain(ended))
        self.truncated = bool(_plain(limit)) or self.steps >= self._limit
        self.total += float(_plain(reward))
        return float(_plain(reward))

    @property
    def space(self) -> Any:
        """A Gymnasium Box: ``low``, ``high``, ``shape``."""
        return self._env.unwrapped.single_action_space

    def image(self) -> Any:
        """(H, W, 3) uint8 of the first camera; None where the observation has none."""
        cameras = self.observation.get("sensor_data") if isinstance(self.observation, dict) else None
        return next(iter(cameras.values()))["rgb"] if cameras else None

    def step_budget(self) -> int:
        return self._limit

    def facts(self) -> dict[str, Any]:
        if self._env is None:
            return {}
        told = {"episode_id": f"{self._opened[0]}#{self.number('seed')}", "scene_id": self._opened[0]}
        return dict(told, instruction="")

    def metrics(self) -> dict[str, float]:
        return {"success": float(self.success), "return": self.total, "length": float(self.steps)}

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
        self._env, self._opened = None, ()

    def _open(self, task: str, obs_mode: str, control: str) -> None:
        with foreign_imports():
            import gymnasium
            import mani_skill.envs  # noqa: F401  # registers its tasks
            from mani_skill.utils.registration import REGISTERED_ENVS
        if task not in REGISTERED_ENVS:
            raise ValueError(f"task {task!r} is none of ManiSkill's, such as PickCube-v1")
        options = {"obs_mode": obs_mode, "render_backend": "cpu", "sim_backend": "physx_cpu", "num_envs": 1}
        if control:
            options["control_mode"] = control
        self._env = gymnasium.make(task, **options)
        self._limit = int(REGISTERED_ENVS[task].max_episode_steps or 200)


def _plain(value: Any) -> Any:
    """Without the batch of one: dicts of arrays, arrays, or numbers."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value.cpu().numpy()[0] if hasattr(value, "cpu") else value
