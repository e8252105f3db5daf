"""One interface over every Gym API there has been: what reset and step return, seeds, frames, limits."""

from __future__ import annotations

import logging
import random
from typing import Any, Dict, Tuple

import numpy as np

from engine.components import WrongChoice

from .making import Maker, offers, reset_takes_seed, seed_method
from .values import image, number, plain

logger = logging.getLogger(__name__)

Stepped = Tuple[Any, float, bool, bool, Dict[str, Any]]


class Adapter:
    """A live environment. ``seeded_at`` lists where its seed was handed over: make, seed (the method), reset.

    The global generators of ``random`` and numpy are seeded as well, for environments that draw from them.
    Whether an environment honours what it is handed only a measurement tells: see ``seed_check``.
    """

    def __init__(self, maker: Maker, seed: int) -> None:
        _seed_globals(seed)
        self.seeded_at: list[str] = ["make"] if maker.takes_seed else []
        self._name = maker.env_id
        self.env = maker.make(seed if maker.takes_seed else None)

    @property
    def bare(self) -> Any:
        """The environment without its wrappers."""
        return getattr(self.env, "unwrapped", self.env)

    def reset(self, seed: int) -> tuple[Any, dict[str, Any]]:
        """Seed by every way there is, and reset: (observation, info), both plain."""
        _seed_globals(seed)
        method = seed_method(self.env)
        if method is not None:
            method(seed)
            self._seeded("seed")
        if reset_takes_seed(self.env):
            result = self.env.reset(seed=seed)
            self._seeded("reset")
        else:
            result = self.env.reset()
        observation, info = result if self._is_pair(result) else (result, {})
        return plain(observation), plain(info)

    def step(self, action: Any) -> Stepped:
        """(observation, reward, terminated, truncated, info) from a 5-tuple, or the old API's 4-tuple.

        Of a 4-tuple, ``done`` counts as truncated where ``info["TimeLimit.truncated"]`` says so.
        """
        result = self.env.step(action)
        if not isinstance(result, tuple) or len(result) not in (4, 5):
            shape = f"{len(result)} values" if isinstance(result, tuple) else type(result).__name__
            raise TypeError(f"{self._name}: step() returned {shape}; a Gym environment returns 4 or 5 values")
        observation, reward, ended = result[:3]
        info = plain(result[-1]) if isinstance(result[-1], dict) else {}
        truncated = bool(result[3]) if len(result) == 5 else bool(ended and info.get("TimeLimit.truncated"))
        terminated = bool(ended) and not (len(result) == 4 and truncated)
        return plain(observation), number(reward, f"{self._name}: the reward"), terminated, truncated, info

    def render(self) -> np.ndarray:
        """The present frame, (H, W, 3) uint8 RGB; WrongChoice where the environment gives none."""
        render = getattr(self.env, "render", None)
        if render is None:
            raise WrongChoice(f"{self._name} has no render(): run it with frames=none")
        frame = render(mode="rgb_array") if offers(render, "mode") else render()
        if frame is None:
            raise WrongChoice(f"{self._name}: render() gave no frame; was it made with frames=render?")
        try:
            return image(frame)
        except TypeError as error:
            raise WrongChoice(f"{self._name}: {error}: run it with frames=none") from error

    def step_limit(self) -> int | None:
        """The steps after which the environment itself ends an episode, known after reset; None: no limit.

        Atari's limit is in frames, of which a step takes ``frameskip``.
        """
        spec = getattr(self.env, "spec", None)
        asked = getattr(spec, "kwargs", None) or {}
        skip = asked.get("frameskip")
        frames = asked.get("max_num_frames_per_episode")
        limits = [
            getattr(spec, "max_episode_steps", None),
            getattr(self.env, "_max_episode_steps", None),
            getattr(self.bare, "max_steps", None),
            getattr(self.bare, "max_episode_steps", None),
            frames // skip if isinstance(frames, int) and isinstance(skip, int) else None,
        ]
        whole = [int(limit) for limit in limits if isinstance(limit, (int, np.integer)) and limit > 0]
        return min(whole) if whole else None

    def close(self) -> None:
        """Close it, if it can be; a failure is logged, since nothing more is asked of it."""
        close = getattr(self.env, "close", None)
        if close is not None:
            try:
                close()
            except Exception:
                logger.warning("%s: close() failed", self._name, exc_info=True)

    def _seeded(self, place: str) -> None:
        if place not in self.seeded_at:
            self.seeded_at.append(place)

    def _is_pair(self, result: Any) -> bool:
        """Whether reset gave (observation, info), rather than an observation that is itself a pair."""
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)):
            return False
        space = getattr(self.env, "observation_space", None)
        holds_pairs = isinstance(getattr(space, "spaces", None), (list, tuple))
        return not (holds_pairs and space.contains(result))


def _seed_globals(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
