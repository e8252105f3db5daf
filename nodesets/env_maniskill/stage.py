"""The scene of this process, and the episode in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.components import SeededStage, blaming, foreign_imports

OBS_MODES = ("state", "state_dict", "rgb", "rgbd")


class ManiSkillStage(SeededStage):
    """Keeps its scene for the next episode, as long as task, observation and control are the same."""

    def __init__(self) -> None:
        super().__init__()
        self._opened: tuple[str, ...] = ()
        self._limit = 0

    def options(self, field: str) -> list[str]:
        return list(OBS_MODES) if field == "obs_mode" else super().options(field)

    def set_up(self) -> None:
        wanted = self.text("task") or "PickCube-v1", self.choice("obs_mode"), self.text("control_mode")
        if wanted != self._opened:
            self.close()
            self._open(*wanted)
            self._opened = wanted
        seed = self.number("seed")
        seen, _ = self.env.reset(seed=seed % 2**31)
        self.observation = _plain(seen)
        self.begin(wanted[0], seed)

    def act(self, action: Any) -> float:
        """Numbers in the shape of ``space``."""
        numbers = np.asarray(action, np.float32)
        if numbers.shape != self.space.shape or not np.isfinite(numbers).all():
            raise ValueError(
                f"an action of shape {numbers.shape} is not finite numbers of {self.space.shape}"
            )
        seen, reward, ended, limit, info = self.env.step(numbers)
        self.observation = _plain(seen)
        self.success = bool(_plain(info["success"]))
        self.terminated = bool(_plain(ended))
        self.truncated = bool(_plain(limit)) or self.steps + 1 >= self._limit
        return float(_plain(reward))

    def seen(self) -> dict[str, Any]:
        told = {**super().seen(), "observation": self.observation}
        image = self._image()
        return told if image is None else dict(told, rgb=image)

    @property
    def space(self) -> Any:
        """A Gymnasium Box: ``low``, ``high``, ``shape``."""
        return self.env.unwrapped.single_action_space

    def _image(self) -> Any:
        """(H, W, 3) uint8 of the first camera; None where the observation has none."""
        cameras = self.observation.get("sensor_data") if isinstance(self.observation, dict) else None
        return next(iter(cameras.values()))["rgb"] if cameras else None

    def step_budget(self) -> int:
        return self._limit

    def metrics(self) -> dict[str, float]:
        return {"success": float(self.success), "return": self.total, "length": float(self.steps)}

    def close(self) -> None:
        super().close()
        self._opened = ()

    def _open(self, task: str, obs_mode: str, control: str) -> None:
        with foreign_imports():
            import gymnasium
            import mani_skill.envs  # noqa: F401  # registers its tasks
            from mani_skill.utils.registration import REGISTERED_ENVS
        if task not in REGISTERED_ENVS:
            raise ValueError(f"selector task is {task!r}, none of ManiSkill's, such as PickCube-v1")
        options = {"obs_mode": obs_mode, "render_backend": "cpu", "sim_backend": "physx_cpu", "num_envs": 1}
        if control:
            options["control_mode"] = control
        with blaming(f"selector control_mode is {control!r}", bool(control)):
            self.env = gymnasium.make(task, **options)
        self._limit = int(REGISTERED_ENVS[task].max_episode_steps or 200)


def _plain(value: Any) -> Any:
    """Without the batch of one: dicts of arrays, arrays, or numbers."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value.cpu().numpy()[0] if hasattr(value, "cpu") else value
