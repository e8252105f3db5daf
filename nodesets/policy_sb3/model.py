"""A saved policy, whichever algorithm it is of: observations to actions and scores. Imports the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.base_class import BaseAlgorithm

# The library pickles these with code of the Python that saved them; who only acts has no use for them.
_OF_TRAINING = {"lr_schedule": lambda _: 0.0, "clip_range": lambda _: 0.0, "learning_rate": 0.0}


class PolicyFileError(Exception):
    """A policy cannot be loaded; the message names the file and what it must hold."""


class Brain:
    """A policy in eval mode on ``device``, and how it comes to an action (``kind``):

    ``categorical``: scores are log-probabilities of actions; ``gaussian``: the mean of the action, before it
    is clipped; ``values``: what DQN expects of each action; ``actor``: the action, before it is scaled to its
    bounds. Of the first two, actions can be drawn. Raises PolicyFileError.
    """

    def __init__(self, path: Path, algorithm: str, device: str) -> None:
        self.policy: Any = _loaded(path, algorithm, device).policy
        self.policy.set_training_mode(False)
        self.observation_space: Any = self.policy.observation_space
        self._space: Any = self.policy.action_space
        self.kind = _kind(self.policy)
        self.can_draw = self.kind in ("categorical", "gaussian") and not getattr(
            self.policy, "use_sde", False
        )

    def answers(self, observations: Any, keys: list[int | None]) -> list[tuple[Any, np.ndarray]]:
        """(action, scores) of each row of ``observations`` (B, ...); a key of None takes the likeliest."""
        with torch.inference_mode():
            seen, _ = self.policy.obs_to_tensor(observations)
            scores, spread = (tensor.flatten(1).float().cpu().numpy() for tensor in self._scores(seen))
        return [(self._action(*parts), parts[0]) for parts in zip(scores, spread, keys)]

    def _scores(self, seen: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores and standard deviations, (B, ...) each; the latter count of a gaussian only."""
        if self.kind == "values":
            values = self.policy.q_net(seen)
            return values, values
        if self.kind == "actor":
            actions = self.policy._predict(seen, deterministic=True)
            return actions, actions
        chosen_by = self.policy.get_distribution(seen).distribution
        if self.kind == "gaussian":
            return chosen_by.mean, chosen_by.stddev
        return chosen_by.logits, chosen_by.logits

    def _action(self, scores: np.ndarray, spread: np.ndarray, key: int | None) -> Any:
        rng = None if key is None else np.random.Generator(np.random.PCG64(key))
        space = self._space
        if self.kind in ("categorical", "values"):
            # Gumbel-max: argmax(logits + Gumbel noise) is a draw from softmax(logits).
            noise = 0.0 if rng is None else rng.gumbel(size=scores.shape)
            return int((scores + noise).argmax()) + int(space.start)
        action = scores if rng is None else scores + spread * rng.standard_normal(scores.shape)
        action = action.reshape(space.shape)
        if not hasattr(space, "low"):
            return action.astype(space.dtype)
        if self.policy.squash_output:
            action = self.policy.unscale_action(action)
        return np.clip(action, space.low, space.high).astype(space.dtype)


def _kind(policy: Any) -> str:
    if hasattr(policy, "q_net"):
        return "values"
    drawn = {"Discrete": "categorical", "Box": "gaussian"} if hasattr(policy, "get_distribution") else {}
    return drawn.get(type(policy.action_space).__name__, "actor")


def _loaded(path: Path, algorithm: str, device: str) -> Any:
    kind = getattr(stable_baselines3, str(algorithm), None)
    if not (isinstance(kind, type) and issubclass(kind, BaseAlgorithm)):
        raise PolicyFileError(f"config algorithm is {algorithm!r}, which stable-baselines3 does not have")
    if not path.is_file():
        raise PolicyFileError(f"{path}: there is no such policy file")
    try:
        return kind.load(path, device=device, custom_objects=_OF_TRAINING)
    except Exception as error:
        words = " ".join(str(error).split())
        raise PolicyFileError(f"{path}, as {algorithm}: {type(error).__name__}: {words}") from error
