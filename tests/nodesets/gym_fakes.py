"""Environments of every shape that Gym's API has had, by entry string; none imports gym or gymnasium."""

from __future__ import annotations

import enum
import random
from typing import Any, NamedTuple

import numpy as np

LAST = 6
"""Steps in an episode of these environments."""


class Discrete:
    """An action space that cannot sample."""

    def __init__(self, n: int, start: int = 0) -> None:
        self.n, self.start = n, start


class Box:
    def __init__(self, low: Any, high: Any, dtype: Any = np.float32) -> None:
        self.low, self.high = np.asarray(low, dtype), np.asarray(high, dtype)
        self.dtype, self.shape = np.dtype(dtype), self.low.shape


class TupleSpace:
    def __init__(self, *spaces: Any) -> None:
        self.spaces = spaces

    def contains(self, value: Any) -> bool:
        return isinstance(value, tuple) and len(value) == len(self.spaces)


class _Drawing:
    """Counts steps and draws each observation from a generator of its own."""

    action_space: Any = Discrete(3)

    def _begin(self, seed: int | None) -> np.ndarray:
        self.rng = np.random.default_rng(seed)
        return self._again()

    def _again(self) -> np.ndarray:
        self.steps = 0
        return self.rng.random(2)

    def _go(self) -> tuple[np.ndarray, float, bool]:
        self.steps += 1
        return self.rng.random(2), 0.5, self.steps == LAST


class NewApi(_Drawing):
    """reset(seed=) gives (observation, info); step gives 5 values."""

    def __init__(self, length: int = LAST, render_mode: str | None = None) -> None:
        self.length, self.render_mode, self.closed = length, render_mode, False

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self._begin(seed), {"started": True}

    def step(self, action: Any) -> Any:
        observation, reward, _ = self._go()
        return observation, reward, False, self.steps == self.length, {"action": action}

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        return np.full((4, 5, 3), self.steps, np.uint8)

    def close(self) -> None:
        self.closed = True


class ChildOfNewApi(NewApi):
    """Its constructor passes everything on."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)


class OldApi(_Drawing):
    """seed(n), reset() gives the observation, step gives 4 values, no close; render(mode)."""

    def seed(self, n: int) -> list[int]:
        self.rng = np.random.default_rng(n)
        return [n]

    def reset(self) -> Any:
        return self._again()

    def step(self, action: Any) -> Any:
        observation, reward, done = self._go()
        return observation, reward, done, {}

    def render(self, mode: str = "human") -> Any:
        return np.zeros((4, 5), np.uint8) if mode == "rgb_array" else None


class OldTimeLimit(OldApi):
    def step(self, action: Any) -> Any:
        observation, reward, done, _ = super().step(action)
        return observation, reward, done, {"TimeLimit.truncated": done}


class OldWrapper:
    """Passes whatever it is given to what it wraps, as old Gym's wrappers do."""

    def __init__(self, inner: str = "OldApi") -> None:
        self.env = globals()[inner]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["env"], name)

    @property
    def unwrapped(self) -> Any:
        return self.env

    def reset(self, **kwargs: Any) -> Any:
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        return self.env.step(action)


class SeedAtMake(_Drawing):
    def __init__(self, seed: int | None = None) -> None:
        self._begin(seed)

    def reset(self) -> Any:
        return self._again()

    step = OldApi.step


class SeedIgnored(NewApi):
    """Takes a seed at reset and does nothing with it."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=None)


class GlobalChance(OldApi):
    """Draws from the global generators."""

    seed = None  # type: ignore[assignment]

    def reset(self) -> Any:
        self.steps = 0
        return [random.random(), float(np.random.rand())]

    def step(self, action: Any) -> Any:
        self.steps += 1
        return [random.random(), float(np.random.rand())], 0.0, self.steps == LAST, {}


class Counting(NewApi):
    """Remembers, in the object, how often it was reset."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.resets = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.resets += 1
        return self.resets, {}


class Bare:
    """reset and step and nothing else; text in, text out."""

    def reset(self) -> str:
        return "You are in a kitchen."

    def step(self, action: str) -> Any:
        return f"You {action}.", 1, action == "leave", {"score": 3}


class PairObservation(NewApi):
    """An old-style reset whose observation is itself (array, dict)."""

    observation_space = TupleSpace(object(), object())

    def reset(self) -> Any:  # type: ignore[override]
        self._begin(0)
        return np.zeros(2), {"map": np.ones(3)}


class Point(NamedTuple):
    x: Any
    y: int


class Lazy:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.arange(3)


class Direction(enum.IntEnum):
    left = 0
    right = 1
    forward = 2


class Odd(NewApi):
    """Observations and infos of many kinds; a mission; named actions; an own success flag."""

    mission = "go to the red ball"
    actions = Direction

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        observation = {"lazy": Lazy(), 1: Point(np.int64(4), 5), "way": Direction.right, "when": None}
        return observation, {"object": object(), "names": {"b", "a"}, "words": np.array(["x"], dtype=object)}

    def step(self, action: Any) -> Any:
        observation, _, terminated, truncated, _ = super().step(action)
        return observation, np.array([0.25]), terminated, truncated, {"is_success": action == Direction.right}


class Continuous(NewApi):
    action_space = Box([-1.0, 0.0], [1.0, 5.0])


class ThreeValues(NewApi):
    def step(self, action: Any) -> Any:
        return super().step(action)[:3]


class TwoRewards(NewApi):
    def step(self, action: Any) -> Any:
        return (*super().step(action)[:1], [1.0, 2.0], False, False, {})


class CloseFails(NewApi):
    def close(self) -> None:
        raise OSError("the simulator is gone already")


class ResetFails(NewApi):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        raise RuntimeError("no licence")


class Namespace:
    """A class inside another, and a function that makes an environment."""

    Inner = NewApi

    @staticmethod
    def build(length: int) -> NewApi:
        return NewApi(length)


class Drawn(NewApi):
    """Its frames are as wide as it is told."""

    def __init__(self, width: int = 5, render_mode: str | None = None) -> None:
        super().__init__()
        self.width = width

    def render(self) -> np.ndarray:
        return np.zeros((4, self.width, 3), np.uint8)


class DrawnWrongly(NewApi):
    def render(self) -> np.ndarray:
        raise RuntimeError("no GPU")
