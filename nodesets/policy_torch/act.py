"""The tool: a batch of observations to a batch of actions. Imports torch when it is set up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from engine.components import BaseCanvasNode, PortDef

HOME = Path(__file__).parent


class Act(BaseCanvasNode):
    """Choose an action for each row. State and chance ride the row: nothing is kept between calls.

    A policy maps observations (B, ...) to scores (B, outputs), or, where its ``state_size`` is not 0,
    observations and states (B, state_size) to scores and states. Config:

    - ``path``: absolute, or relative to this nodeset's folder.
    - ``architecture``: arguments of ``MlpGru``, where the file is a bare state_dict.
    - ``observation_shape``, ``state_size``: for TorchScript that has no such attributes.
    - ``head``: ``categorical``, scores are logits and the action is an index; or ``gaussian``, scores are the
      mean of the action.
    - ``temperature`` of a categorical head, 0 for the likeliest action.
    - ``noise``: the standard deviation of a gaussian head.
    - ``observation_key``: the entry to take where observations are dicts.
    - ``device``: as torch names it.
    """

    node_type = "policy_torch__act"
    display_name = "Torch: Act"
    description = "Choose an action by a TorchScript or state_dict policy"
    category = "policy"
    batched = True
    input_ports = [
        PortDef("observation", "ANY", "numbers in the shape that the policy was trained on"),
        PortDef("hidden_in", "ANY", "the last hidden_out; absent at the first step", optional=True),
    ]
    output_ports = [
        PortDef("action", "ANY", "int, or a float32 vector from a gaussian head"),
        PortDef("hidden_out", "ANY", "(state_size,) float32"),
        PortDef("scores", "ANY", "float32 logits, or means"),
    ]
    default_config = {
        "path": "cartpole.pt",
        "architecture": None,
        "observation_shape": None,
        "state_size": None,
        "head": "categorical",
        "temperature": 1.0,
        "noise": 0.0,
        "observation_key": "",
        "device": "cpu",
    }

    async def initialize(self) -> None:
        """Load the policy that the config names. PolicyFileError or ValueError say what is wrong with it."""
        from .model import load_policy

        if self.config["head"] not in ("categorical", "gaussian"):
            raise ValueError(f"config head is {self.config['head']!r}; it is categorical or gaussian")
        for name in ("temperature", "noise"):
            value = self.config[name]
            if not isinstance(value, (int, float)) or not value >= 0:
                raise ValueError(f"config {name} is {value!r}; it is a number of at least 0")
        path = HOME / self.config["path"]
        self.policy = load_policy(path, self.config["architecture"], self.config["device"])
        self._state_size = int(self._own("state_size") or 0)
        self._shape = self._own("observation_shape")
        if self._shape is None:
            self.sample_rows = None  # Rows of an unknown shape cannot be made up: each one then runs alone.

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        samples = inputs["_samples"]
        observations = np.stack([self._observation(sample) for sample in samples])
        states = np.stack([self._state(sample) for sample in samples])
        scores, states = self._evaluate(observations, states)
        return {
            "_outputs": [
                {"action": self._choose(row, sample["_key"]), "hidden_out": state, "scores": row}
                for sample, row, state in zip(samples, scores, states)
            ]
        }

    def sample_rows(self, count: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Standard normal observations, states in [-1, 1] as of a GRU; every fourth row is a first step."""
        key = self.config["observation_key"]
        rows: list[dict[str, Any]] = []
        for index in range(count):
            observation = rng.standard_normal(self._shape).astype(np.float32)
            row: dict[str, Any] = {"observation": {key: observation} if key else observation}
            if index % 4:
                row["hidden_in"] = rng.uniform(-1, 1, self._state_size).astype(np.float32)
            rows.append(row)
        return rows

    def _own(self, name: str) -> Any:
        given = self.config[name]
        return getattr(self.policy, name, None) if given is None else given

    def _observation(self, sample: dict[str, Any]) -> np.ndarray:
        value, key = sample["observation"], self.config["observation_key"]
        if key:
            value = value[key]
        row = np.asarray(value, dtype=np.float32)
        if self._shape is not None:
            if row.size != np.prod(self._shape):
                raise ValueError(f"an observation has shape {row.shape}; the policy takes {self._shape}")
            row = row.reshape(self._shape)
        return row

    def _state(self, sample: dict[str, Any]) -> np.ndarray:
        state = sample.get("hidden_in")
        if state is None:
            return np.zeros(self._state_size, np.float32)
        return np.asarray(state, dtype=np.float32)

    def _evaluate(self, observations: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        import torch

        device = self.config["device"]
        # TorchScript's optimiser rewrites a module after its first calls: bits would depend on their number.
        with torch.inference_mode(), torch.jit.optimized_execution(False):
            seen = torch.from_numpy(observations).to(device)
            if not self._state_size:
                return self.policy(seen).cpu().numpy(), states
            scores, states_after = self.policy(seen, torch.from_numpy(states).to(device))
            return scores.cpu().numpy(), states_after.cpu().numpy()

    def _choose(self, scores: np.ndarray, key: int) -> Any:
        rng = np.random.Generator(np.random.PCG64(key))
        if self.config["head"] == "gaussian":
            drawn = rng.standard_normal(scores.shape) * self.config["noise"]
            return (scores + drawn).astype(np.float32)
        temperature = self.config["temperature"]
        if temperature == 0:
            return int(scores.argmax())
        # Gumbel-max: argmax(logits / T + Gumbel noise) is a draw from softmax(logits / T).
        return int((scores.astype(np.float64) / temperature + rng.gumbel(size=scores.shape)).argmax())
