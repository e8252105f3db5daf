"""One task of Meta-World, from its reset to now."""

from __future__ import annotations

import os
from typing import Any, Mapping

import numpy as np

from engine.components import Package, SeededStage, extra, foreign_imports

METAWORLD = Package(("metaworld",), extra("simulators", "EVALTOWER_METAWORLD_PYTHON"))
METRICS = ("success", "return", "steps")
STEP_LIMIT = 500  # Meta-World's own
CHOICES = {"frames": ["none", "render"], "until": ["success", "limit"]}


class Trial:
    """What the panel's ``form`` selects. Without a ``task_id`` it is MT50: episode i has task i modulo 50.

    ``success`` is Meta-World's: the task was solved at any step so far; ``total`` is the undiscounted return.
    Raises ImportError and ValueError, each with one sentence for the operator.
    """

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.form = form
        self.seed = int(form.get("seed", 0))
        self._frames = form.get("frames") == "render"
        environments, policies = _library(self._frames)
        names = sorted(policies)
        self.task_id = str(form.get("task_id") or names[int(form.get("episode_index", 0)) % len(names)])
        if self.task_id not in policies:
            raise ValueError(f"selector task_id is {self.task_id!r}; it takes one of {', '.join(names)}")
        # reset() ignores seeds: the constructor draws where things lie, and each reset puts them there again.
        mode = "rgb_array" if self._frames else None
        self.env = environments[f"{self.task_id}-goal-observable"](seed=self.seed, render_mode=mode)
        self._policy = policies[self.task_id]()
        self.observation: np.ndarray = self.env.reset()[0]
        self.success = self.truncated = False
        self.total, self.steps = 0.0, 0

    @property
    def done(self) -> bool:
        return self.truncated or (self.success and self.form.get("until") != "limit")

    def step(self, action: Any) -> float:
        """Take one action, (4,); its reward. RuntimeError once the trial is over."""
        if self.done:
            raise RuntimeError(f"{self.task_id} ended at step {self.steps}: wire `done` to the loop's `stop`")
        wanted = np.asarray(action, dtype=np.float32)
        if wanted.shape != (4,) or not np.isfinite(wanted).all():
            raise ValueError(f"action {action!r:.80} is not four finite numbers")
        self.observation, reward, _, self.truncated, info = self.env.step(np.clip(wanted, -1, 1))
        self.success = self.success or bool(info["success"])
        self.total += float(reward)
        self.steps += 1
        return float(reward)

    def scripted(self, observation: Any) -> np.ndarray:
        """What the task's scripted policy does where it sees ``observation``, (39,)."""
        return np.clip(self._policy.get_action(np.asarray(observation)), -1, 1).astype(np.float32)

    def seen(self) -> dict[str, Any]:
        """The observation, and the frame where frames were asked for."""
        frame = {"rgb": np.ascontiguousarray(self.env.render())} if self._frames else {}
        return {"observation": self.observation, **frame}

    def metrics(self) -> dict[str, float]:
        return {"success": float(self.success), "return": self.total, "steps": float(self.steps)}


class Bench(SeededStage):
    """Plays one trial after another, each with an environment of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.trial: Trial | None = None

    def options(self, field: str) -> list[str]:
        return CHOICES.get(field) or super().options(field)

    def set_up(self) -> None:
        chosen = {field: self.choice(field) for field in CHOICES}
        numbers = {field: self.number(field) for field in ("seed", "episode_index")}
        self._open({**self.form, **chosen, **numbers})

    def restart(self) -> None:
        """Make the trial anew if steps were taken."""
        if self.current().steps:
            self._open(self.current().form)

    def current(self) -> Trial:
        if self.trial is None:
            raise RuntimeError("no episode was set up: press play first")
        return self.trial

    def facts(self) -> dict[str, Any]:
        """``scene_id`` is the task: intervals over many tasks are by task."""
        if self.trial is None:
            return {}
        task = self.trial.task_id
        instruction = task.rpartition("-")[0].replace("-", " ")
        return {"episode_id": f"{task}#{self.trial.seed}", "scene_id": task, "instruction": instruction}

    def metrics(self) -> dict[str, float]:
        return self.current().metrics()

    def step_budget(self) -> int:
        return STEP_LIMIT

    def _open(self, form: Mapping[str, Any]) -> None:
        self.close()
        self.trial = Trial(form)

    def close(self) -> None:
        if self.trial is not None:
            self.trial.env.close()
        self.trial = None


def _library(frames: bool) -> tuple[Any, Any]:
    """(environments, policies) by name."""
    if frames:
        os.environ.setdefault("MUJOCO_GL", "egl")
    with foreign_imports(METAWORLD):
        from metaworld.env_dict import ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE
        from metaworld.policies import ENV_POLICY_MAP
    return ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE, ENV_POLICY_MAP
