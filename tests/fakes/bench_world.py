"""The world that the speed benchmarks step, the same for every framework: numpy alone."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

SIDE = 64
EPISODE_STEPS = 100


class BenchWorld:
    """A square moves over a gradient; a step takes ``wait_ms`` + U(0, ``jitter_ms``), drawn from the seed."""

    def __init__(self, wait_ms: float, jitter_ms: float) -> None:
        self.wait_ms = wait_ms
        self.jitter_ms = jitter_ms
        ramp = np.linspace(0, 255, SIDE, dtype=np.uint8)
        self.background = np.stack([np.tile(ramp, (SIDE, 1))] * 3, axis=-1)

    def reset(self, seed: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        self.rng = np.random.default_rng(seed)
        self.position = np.array([8, 8])
        self.steps = 0
        return self.frame()

    def step(self, action: int) -> tuple[np.ndarray[Any, np.dtype[np.uint8]], bool]:
        if self.wait_ms or self.jitter_ms:
            time.sleep((self.wait_ms + self.rng.uniform(0, self.jitter_ms)) / 1000)
        self.position = (self.position + ((1, 0), (0, 1), (-1, 0), (0, -1))[action]) % (SIDE - 8)
        self.steps += 1
        return self.frame(), self.steps >= EPISODE_STEPS

    def frame(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        frame = self.background.copy()
        row, column = self.position
        frame[row : row + 8, column : column + 8] = (255, 0, 0)
        return frame


def bench_policy(frame: np.ndarray[Any, np.dtype[np.uint8]]) -> int:
    """An action from the frame: cheap, and not constant."""
    return int(frame[::8, ::8].sum()) % 4
