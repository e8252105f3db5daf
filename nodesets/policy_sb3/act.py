"""The tool: a batch of observations to a batch of actions. Imports stable-baselines3 when it is set up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from engine.components import BaseCanvasNode, PortDef

HOME = Path(__file__).parent


class Act(BaseCanvasNode):
    """Choose an action for each row. Config:

    - ``path``: the zip, absolute or relative to this nodeset's folder. It holds pickles, which run code: load
      only those that you trust.
    - ``algorithm``: the class that saved it (``PPO``, ``A2C``, ``DQN``, ``SAC``, ``TD3``, ``DDPG``).
    - ``deterministic``: the likeliest action; else one drawn by the row's key, of policies that are a
      distribution (PPO and A2C, over a Discrete or Box space).
    - ``device``: as torch names it.

    What a VecNormalize did to observations in training is not in the zip, and is not done here.
    """

    node_type = "policy_sb3__act"
    display_name = "SB3: Act"
    description = "Choose an action by a policy of stable-baselines3"
    category = "policy"
    batched = True
    input_ports = [
        PortDef("observation", "ANY", "as the environment gave it in training: numbers, or a dict of them")
    ]
    output_ports = [
        PortDef("action", "ANY", "int, or an array in the shape of the action space"),
        PortDef("scores", "ANY", "float32: log-probabilities, the mean, values of actions, or the action"),
    ]
    default_config = {"path": "cartpole.zip", "algorithm": "PPO", "deterministic": True, "device": "cpu"}

    async def initialize(self) -> None:
        """Load the policy that the config names. PolicyFileError or ValueError say what is wrong with it."""
        from .model import Brain

        if not isinstance(self.config["deterministic"], bool):
            raise ValueError(f"config deterministic is {self.config['deterministic']!r}; it is true or false")
        path = HOME / self.config["path"]
        self.brain = Brain(path, self.config["algorithm"], self.config["device"])
        self.policy = self.brain.policy  # where the load-time check looks for layers in train mode
        if not (self.config["deterministic"] or self.brain.can_draw):
            raise ValueError(
                f"config deterministic is false, but {path.name} is no distribution over a Discrete "
                "or Box space"
            )

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        samples = inputs["_samples"]
        rows = [self._fitted(sample["observation"], self.brain.observation_space) for sample in samples]
        keys = [None if self.config["deterministic"] else sample["_key"] for sample in samples]
        answers = self.brain.answers(_stacked(rows), keys)
        return {"_outputs": [{"action": action, "scores": scores} for action, scores in answers]}

    def sample_rows(self, count: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Observations drawn from the space that the policy was trained on."""
        space = self.brain.observation_space
        space.seed(int(rng.integers(2**31)))
        return [{"observation": space.sample()} for _ in range(count)]

    def _fitted(self, value: Any, space: Any) -> Any:
        """The observation as an array of the space's dtype and shape; a dict of them of a Dict space."""
        parts = getattr(space, "spaces", None)
        if parts is not None:
            if not isinstance(value, dict) or not set(parts) <= set(value):
                raise ValueError(f"an observation is no dict with {', '.join(parts)}, as the policy takes it")
            return {name: self._fitted(value[name], part) for name, part in parts.items()}
        row = np.asarray(value, dtype=space.dtype)
        if row.size != np.prod(space.shape):
            raise ValueError(f"an observation has shape {row.shape}; the policy takes {space.shape}")
        return row.reshape(space.shape)


def _stacked(rows: list[Any]) -> Any:
    if isinstance(rows[0], dict):
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    return np.stack(rows)
