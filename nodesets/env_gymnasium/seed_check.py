"""Measure where an environment honours a seed: at its constructor, by ``seed(n)``, at reset; or nowhere."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np

from .choice import Choice
from .making import Maker, reset_takes_seed, seed_method
from .values import draw, plain, to_action

_SEEDS = (1, 2, 3, 4)
_STEPS = 8


def check_seed(choice: Choice) -> dict[str, str]:
    """For each of make, seed and reset, alone: what two environments with the same seed do.

    ``absent``: there is no such place. ``ignored``: the two differ. ``no effect``: all seeds give the same.
    ``honoured``: the same seed gives the same episode, and another seed another.
    An episode here is the first observation and 8 random steps. Global generators get fresh entropy, so that
    they cannot pass for a seed.
    """
    maker = Maker(choice.env_id, choice.env_kwargs, "none")
    return {place: _verdict(maker, place) for place in ("make", "seed", "reset")}


def _verdict(maker: Maker, place: str) -> str:
    if not _offered(maker, place):
        return "absent"
    episodes = [(_episode(maker, place, seed), _episode(maker, place, seed)) for seed in _SEEDS]
    if any(one != two for one, two in episodes):
        return "ignored"
    return "honoured" if len({one for one, _ in episodes}) > 1 else "no effect"


def _offered(maker: Maker, place: str) -> bool:
    if place == "make":
        return maker.takes_seed
    env = maker.make()
    offered = seed_method(env) is not None if place == "seed" else reset_takes_seed(env)
    _close(env)
    return offered


def _episode(maker: Maker, place: str, seed: int) -> bytes:
    random.seed()
    np.random.seed()
    env = maker.make(seed if place == "make" else None)
    method = seed_method(env) if place == "seed" else None
    if method is not None:
        method(seed)
    seen = [plain(env.reset(seed=seed) if place == "reset" else env.reset())]
    rng = np.random.default_rng(seed=0)
    for _ in range(_STEPS):
        result: tuple[Any, ...] = env.step(to_action(env, draw(env.action_space, rng)))
        seen.append(plain(result))
        if any(bool(flag) for flag in result[2:-1]):
            break
    _close(env)
    return pickle.dumps(seen, protocol=4)


def _close(env: Any) -> None:
    getattr(env, "close", lambda: None)()
