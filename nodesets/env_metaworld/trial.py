"""The one arm of this process, on its task."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.components import Package, SeededStage, extra, foreign_imports, one_of
from engine.components.drawing import draw_plainly, draw_without_screen, drawing_explained

from .tasks import TASKS

METAWORLD = Package(
    ("metaworld",),
    extra("simulators", "EVALTOWER_METAWORLD_PYTHON"),
    stands_on=("mujoco", "gymnasium"),
)
METRICS = ("success", "return", "steps")
STEP_LIMIT = 500  # Meta-World's own
CHOICES = {"frames": ["none", "render"], "until": ["success", "limit"]}


class Bench(SeededStage):
    """Each episode has an environment of its own. Without a ``task_id`` it is MT50: episode i has task i
    modulo 50. ``success`` is Meta-World's: the task was solved at any step so far."""

    def options(self, field: str) -> list[str]:
        return CHOICES.get(field) or super().options(field)

    def set_up(self) -> None:
        self.close()
        self._draws, self._ends_at = self.choice("frames") == "render", self.choice("until")
        seed, in_turn = self.number("seed"), TASKS[self.number("episode_index") % len(TASKS)]
        task = one_of("selector task_id", self.text("task_id") or in_turn, TASKS)
        with drawing_explained(self._draws):
            environments, policies = _library(self._draws)
        # reset() ignores seeds: the constructor draws where things lie, and each reset puts them there again.
        mode = "rgb_array" if self._draws else None
        self.env = environments[f"{task}-goal-observable"](seed=seed, render_mode=mode)
        draw_plainly(self.env.unwrapped.model)
        self._policy, self._observation = policies[task](), self.env.reset()[0]
        with drawing_explained(self._draws):
            self._rgb = self._drawn()
        self.begin(task, seed, task.rpartition("-")[0].replace("-", " "))

    @property
    def done(self) -> bool:
        return self.truncated or (self.success and self._ends_at == "success")

    def act(self, action: Any) -> float:
        wanted = np.asarray(action, dtype=np.float32)
        if wanted.shape != (4,) or not np.isfinite(wanted).all():
            raise ValueError(f"action {action!r:.80} is not four finite numbers")
        self._observation, reward, _, self.truncated, info = self.env.step(np.clip(wanted, -1, 1))
        self._rgb = self._drawn()
        self.success = self.success or bool(info["success"])
        return float(reward)

    def scripted(self, observation: Any) -> np.ndarray:
        """What the task's scripted policy does where it sees ``observation``, (39,)."""
        return np.clip(self._policy.get_action(np.asarray(observation)), -1, 1).astype(np.float32)

    def seen(self) -> dict[str, Any]:
        told = {**super().seen(), "observation": self._observation}
        return dict(told, rgb=self._rgb) if self._draws else told

    def _drawn(self) -> np.ndarray | None:
        return np.ascontiguousarray(self.env.render()) if self._draws else None

    def metrics(self) -> dict[str, float]:
        return {"success": float(self.success), "return": self.total, "steps": float(self.steps)}

    def step_budget(self) -> int:
        return STEP_LIMIT


def _library(frames: bool) -> tuple[Any, Any]:
    """(environments, policies) by name."""
    draw_without_screen(frames)
    with foreign_imports(METAWORLD):
        from metaworld.env_dict import ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE
        from metaworld.policies import ENV_POLICY_MAP
    return ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE, ENV_POLICY_MAP
