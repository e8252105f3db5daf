"""The one episode that this process plays: its environment, and what came of it so far."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping

import numpy as np

from .adapter import Adapter
from .choice import Choice
from .drawing import first_frame
from .making import Maker
from .values import to_action

METRICS = ("return", "success", "length", "terminated", "truncated")
_REWARD_THE_GOAL_ALONE = ("minigrid", "gym_minigrid")


class Episode:
    """From reset to now. ``agents`` holds what an agent tool remembers of this episode, by its name."""

    def __init__(self, choice: Choice, adapter: Adapter) -> None:
        self.choice = choice
        self.adapter = adapter
        self.observation, self.info = adapter.reset(choice.seed)
        self.instruction = self._instruction()
        self.step_limit = adapter.step_limit()
        self.steps = 0
        self.total = 0.0
        self.terminated = False
        self.truncated = False
        self.last_action: Any = None
        self.agents: dict[str, Any] = {}
        self._frame: np.ndarray | None = None
        with first_frame(choice.env_id, choice.env_kwargs):
            self._draw()

    @property
    def done(self) -> bool:
        return self.terminated or self.truncated

    def step(self, value: Any) -> float:
        """Take one action (int, name or array); its reward. RuntimeError once the episode has ended."""
        if self.done:
            raise RuntimeError(
                f"{self.choice.env_id} ended at step {self.steps}: wire `done` to the loop's `stop`"
            )
        action = to_action(self.adapter.env, value)
        self.observation, reward, self.terminated, self.truncated, self.info = self.adapter.step(action)
        self.last_action = action
        self.steps += 1
        self.total += reward
        self._draw()
        return reward

    def frame(self) -> np.ndarray | None:
        """The present frame where frames were asked for, (H, W, 3) uint8 RGB."""
        return self._frame

    def _draw(self) -> None:
        if self.choice.frames == "render":
            self._frame = self.adapter.render()

    def metrics(self) -> dict[str, float]:
        """``return`` is the undiscounted sum of rewards, ``length`` the steps; the others are 0 or 1.

        ``success`` is there only where it is defined: it is the environment's own ``is_success`` or
        ``success`` in its last info; else, where its spec has a ``reward_threshold``, return >= threshold;
        else, in MiniGrid and BabyAI, which reward nothing but the goal, return > 0.
        """
        success = self._success()
        return {
            "return": self.total,
            **({} if success is None else {"success": float(success)}),
            "length": float(self.steps),
            "terminated": float(self.terminated),
            "truncated": float(self.truncated),
        }

    def _success(self) -> bool | None:
        for flag in ("is_success", "success"):
            if flag in self.info:
                return bool(self.info[flag])
        threshold = getattr(getattr(self.adapter.env, "spec", None), "reward_threshold", None)
        if threshold is not None:
            return bool(self.total >= threshold)
        package = type(self.adapter.bare).__module__.partition(".")[0]
        return self.total > 0 if package in _REWARD_THE_GOAL_ALONE else None

    def _instruction(self) -> str:
        for name in ("mission", "instruction"):
            said = self.observation.get(name) if isinstance(self.observation, dict) else None
            said = said or getattr(self.adapter.bare, name, None)
            if isinstance(said, str) and said:
                return said
        return ""


class Session:
    """Plays one episode after another. Each has a fresh environment, unless ``reuse`` was chosen."""

    def __init__(self) -> None:
        self.episode: Episode | None = None
        self._chosen = Choice()
        self._waiting = False
        self._kept: Episode | None = None

    def choose(self, choice: Choice) -> None:
        """End the last episode and set up this one. Without an ``env_id`` the reset node will do so."""
        self._retire()
        self._chosen = choice
        if choice.env_id:
            self._open(choice)
            self._waiting = True

    def begin(self, config: Mapping[str, Any]) -> Episode:
        """The chosen episode at its first observation, set up anew if it was begun before.

        ``config`` is the reset node's. ValueError where no environment is chosen.
        """
        if not self._waiting:
            self._retire()
            self._open(self._chosen.completed(config))
        self._waiting = False
        return self.current()

    def current(self) -> Episode:
        """The episode under way; RuntimeError before the first reset."""
        if self.episode is None:
            raise RuntimeError("no episode has begun: fire env_gymnasium__reset first")
        return self.episode

    def close(self) -> None:
        """End the episode and close whatever environment there is."""
        self._retire()
        if self._kept is not None:
            self._kept.adapter.close()
            self._kept = None

    def _retire(self) -> None:
        """End the episode. Its environment is kept where ``reuse`` was chosen, else closed."""
        ended, self.episode, self._waiting = self.episode, None, False
        if ended is not None and ended.choice.reuse:
            self._kept = ended
        elif ended is not None:
            ended.adapter.close()

    def _open(self, choice: Choice) -> None:
        kept = self._kept
        if kept is None or replace(kept.choice, seed=choice.seed) != choice:
            self.close()
            adapter = Adapter(Maker(choice.env_id, choice.env_kwargs, choice.frames), choice.seed)
        else:
            self._kept, adapter = None, kept.adapter
        try:
            self.episode = Episode(choice, adapter)
        except BaseException:
            adapter.close()
            raise
