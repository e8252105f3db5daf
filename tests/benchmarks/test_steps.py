"""Steps a second of a whole run, log and all, beside gymnasium's AsyncVectorEnv: same world, same policy."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import pytest

from engine.store.rundir import RunDir
from tests.fakes.bench_world import EPISODE_STEPS, SIDE, BenchWorld, bench_policy
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import finished, make_root

ROUNDS = 3
EPISODES_A_WORKER = 4
GRAPH = env_graph("env_bench", carried=("rgb",))
CASES = [
    pytest.param(8, 5.0, 10.0, 1.2, id="8 environments, 5 ms + U(0, 10) ms"),
    pytest.param(4, 0.0, 0.0, 0.5, id="4 environments without a wait"),
]


class GymWorld(gymnasium.Env[Any, Any]):
    def __init__(self, wait_ms: float, jitter_ms: float) -> None:
        self.world = BenchWorld(wait_ms, jitter_ms)
        self.observation_space = gymnasium.spaces.Box(0, 255, (SIDE, SIDE, 3), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(4)
        self.seed = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self.seed = seed
        self.seed += 1  # each episode its own jitter, as in a run
        return self.world.reset(self.seed), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        frame, done = self.world.step(int(action))
        return frame, 0.0, done, False, {}


def ours(root: Path, environments: int, wait_ms: float, jitter_ms: float) -> float:
    run = finished(
        root,
        GRAPH,
        worker_count=environments,
        episode_count=environments * EPISODES_A_WORKER,
        selectors={"wait_ms": wait_ms, "jitter_ms": jitter_ms},
    )
    return steady_steps_a_second(run)


def steady_steps_a_second(run: RunDir) -> float:
    """Each worker's rate after its first episode, which holds the start of its process; summed."""
    rows = run.read_summary().episodes
    assert all(row.status == "completed" for row in rows), [row.error for row in rows]
    total = 0.0
    for worker in {row.worker_id for row in rows}:
        first, *rest = sorted((r for r in rows if r.worker_id == worker), key=lambda row: row.finished_at)
        took = datetime.fromisoformat(rest[-1].finished_at) - datetime.fromisoformat(first.finished_at)
        total += sum(row.step_count for row in rest) / took.total_seconds()
    return total


def theirs(environments: int, wait_ms: float, jitter_ms: float) -> float:
    vector = gymnasium.vector.AsyncVectorEnv([lambda: GymWorld(wait_ms, jitter_ms)] * environments)
    try:
        frames, _ = vector.reset(seed=[1000 * number for number in range(environments)])
        began = time.perf_counter()
        for _ in range(EPISODES_A_WORKER * EPISODE_STEPS):
            frames, *_ = vector.step(np.array([bench_policy(frame) for frame in frames]))
        return environments * EPISODES_A_WORKER * EPISODE_STEPS / (time.perf_counter() - began)
    finally:
        vector.close()


@pytest.mark.benchmark
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("environments", "wait_ms", "jitter_ms", "aim"), CASES)
def test_steps_a_second(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    environments: int,
    wait_ms: float,
    jitter_ms: float,
    aim: float,
) -> None:
    root = make_root(tmp_path)
    pairs = [
        (ours(root, environments, wait_ms, jitter_ms), theirs(environments, wait_ms, jitter_ms))
        for _ in range(ROUNDS)
    ]
    ratio = median(a / b for a, b in pairs)
    with capsys.disabled():
        print(
            f"\n{environments} environments, {wait_ms:g} ms + U(0, {jitter_ms:g}) ms a step, 64x64x3 frames"
        )
        print(
            f"  evaltower       {median(a for a, _ in pairs):8.0f} steps/s  (executor, log and PNGs included)"
        )
        print(f"  AsyncVectorEnv  {median(b for _, b in pairs):8.0f} steps/s")
        print(f"  ratio           {ratio:8.2f}  (aim {aim:g})")
    assert ratio > 0.0
