"""Batched tools for the tests of batching: one that keeps every promise, and others that break them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.components.bases import BaseCanvasNode

WIDTH = 8
Rows = list[dict[str, Any]]


class Model(BaseCanvasNode):
    """``y = compute(x)`` for all rows at once, ``x`` float32 [rows, WIDTH]; notes the size of each batch."""

    node_type = "models__run"
    batched = True

    def __init__(self, compute: Callable[[np.ndarray], np.ndarray] = lambda x: 2 * x + 1) -> None:
        super().__init__()
        self.compute = compute
        self.sizes: list[int] = []

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        samples = inputs["_samples"]
        self.sizes.append(len(samples))
        return {"_outputs": self.outputs(samples)}

    def outputs(self, samples: Rows) -> Any:
        return [{"y": y} for y in self.compute(np.stack([sample["x"] for sample in samples]))]

    def sample_rows(self, n: int, rng: np.random.Generator) -> Rows:
        return [{"x": x} for x in rng.standard_normal((n, WIDTH), dtype=np.float32)]


class WithoutSamples(Model):
    sample_rows = None  # type: ignore[assignment]


class Custom(Model):
    """``reply(samples)`` is returned as ``_outputs``."""

    def __init__(self, reply: Callable[[Rows], Any]) -> None:
        super().__init__()
        self.reply = reply

    def outputs(self, samples: Rows) -> Any:
        return self.reply(samples)


class Matmul(Model):
    """A float32 product with a wide matrix: its kernels, and so its bits, depend on the number of rows."""

    width = 64

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        weights = rng.standard_normal((self.width, self.width), dtype=np.float32)
        super().__init__(lambda x: np.tanh(x @ weights))

    def sample_rows(self, n: int, rng: np.random.Generator) -> Rows:
        return [{"x": x} for x in rng.standard_normal((n, self.width), dtype=np.float32)]

    def depends_on_batch(self) -> bool:
        x = np.stack([row["x"] for row in self.sample_rows(8, np.random.default_rng(1))])
        alone = np.concatenate([self.compute(x[i : i + 1]) for i in range(8)])
        return alone.tobytes() != self.compute(x).tobytes()
