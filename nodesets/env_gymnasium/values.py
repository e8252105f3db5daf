"""What an environment hands out and takes in, as values that travel: observations, frames, actions."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """``value`` as dicts, lists, arrays, numbers, text, bytes, bools and None.

    Array-likes (lazy frames, tensors) become arrays. What is none of these becomes its type's name in angle
    brackets, never its ``repr``, which may hold a memory address that differs from process to process.
    """
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {str(plain(key)): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [
            plain(entry)
            for entry in (sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)
        ]
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        return plain(array.tolist()) if array.dtype.kind in "OUSmMV" else array
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


def number(value: Any, what: str) -> float:
    """A reward as one float; TypeError where it is not one number."""
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise TypeError(f"{what} is {value!r}, not one number")
    return float(array.item())


def image(frame: Any) -> np.ndarray:
    """A rendered frame as (H, W, 3) uint8 RGB: grey is repeated, alpha dropped, the last of a list taken."""
    if isinstance(frame, (list, tuple)) and frame:
        frame = frame[-1]
    array = np.asarray(frame)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] not in (3, 4):
        raise TypeError(f"render() gave {_kind(frame)}, not an image of (H, W), (H, W, 3) or (H, W, 4) uint8")
    return np.ascontiguousarray(array[:, :, :3])


def to_action(env: Any, value: Any) -> Any:
    """An action as the environment's space wants it.

    A name ("forward", "FIRE", "2") is looked up in ``env.unwrapped.actions`` (MiniGrid) or
    ``get_action_meanings()`` (Atari). Without an action space the value passes as it is.
    ValueError names what is allowed.
    """
    space = getattr(env, "action_space", None)
    if hasattr(space, "low"):
        return np.asarray(value, dtype=space.dtype).reshape(space.shape)
    if hasattr(space, "n") and not getattr(space, "shape", ()):
        return _discrete(env, space, value)
    if hasattr(space, "nvec") or hasattr(space, "n"):
        return np.asarray(value, dtype=space.dtype).reshape(space.shape)
    return value


def _discrete(env: Any, space: Any, value: Any) -> int:
    names = action_names(env)
    index = value
    if isinstance(value, str):
        text = value.strip()
        known = {name.lower(): number for name, number in names.items()}
        index = known.get(text.lower(), text)
    try:
        whole = np.asarray(index).astype(np.float64).reshape(())
        action = int(whole)
    except (TypeError, ValueError, OverflowError):
        action, whole = -1, np.float64("nan")
    first = int(getattr(space, "start", 0))
    if action != whole or not first <= action < first + int(space.n):
        listed = f" or one of {', '.join(names)}" if names else ""
        raise ValueError(
            f"action {value!r} is not a whole number from {first} to {first + int(space.n) - 1}{listed}"
        )
    return action


def action_names(env: Any) -> dict[str, int]:
    """The environment's own names of its discrete actions; empty where it has none."""
    bare = getattr(env, "unwrapped", env)
    meanings = getattr(bare, "get_action_meanings", None)
    if callable(meanings):
        return {str(name): number for number, name in enumerate(meanings())}
    actions = getattr(bare, "actions", None)
    members: dict[str, Any] = getattr(actions, "__members__", {})
    return {name: int(member.value) for name, member in members.items()}


def draw(space: Any, rng: np.random.Generator) -> Any:
    """A random element of an action space, from ``rng`` alone.

    Uniform for Discrete, MultiBinary, MultiDiscrete and bounded Box. As in Gymnasium, a Box entry with one
    bound is exponential from it, and one without is standard normal. Tuples and dicts go entry by entry.
    Any other space draws by its own ``sample``, seeded from ``rng``; TypeError where it has none.
    """
    if hasattr(space, "spaces"):
        parts = space.spaces
        if hasattr(parts, "items"):
            return {name: draw(part, rng) for name, part in parts.items()}
        return [draw(part, rng) for part in parts]
    if hasattr(space, "low"):
        return _box(space, rng)
    if hasattr(space, "nvec"):
        first = np.asarray(getattr(space, "start", 0))
        return (rng.integers(0, space.nvec) + first).astype(space.dtype)
    if hasattr(space, "n"):
        shape = getattr(space, "shape", None) or ()
        if shape:
            return rng.integers(0, 2, shape).astype(np.int8)
        return int(rng.integers(int(space.n))) + int(getattr(space, "start", 0))
    if hasattr(space, "sample") and hasattr(space, "seed"):
        space.seed(int(rng.integers(1 << 31)))
        return plain(space.sample())
    raise TypeError(f"cannot draw a random action: the environment's action_space is {_kind(space)}")


def _box(space: Any, rng: np.random.Generator) -> np.ndarray:
    low, high = (
        np.broadcast_to(np.asarray(side, dtype=np.float64), space.shape) for side in (space.low, space.high)
    )
    if np.issubdtype(space.dtype, np.integer):
        return rng.integers(low.astype(np.int64), high.astype(np.int64), endpoint=True).astype(space.dtype)
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    floor, ceiling = np.where(has_low, low, 0.0), np.where(has_high, high, 0.0)
    bounded = rng.uniform(size=space.shape) * (ceiling - floor) + floor
    tail, normal = rng.exponential(size=space.shape), rng.normal(size=space.shape)
    cases: list[np.ndarray] = [has_low & has_high, has_low, has_high]
    return np.select(cases, [bounded, floor + tail, ceiling - tail], normal).astype(space.dtype)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape}"
    return "None" if value is None else f"a {type(value).__name__}"
