"""What a node firing costs: the executor alone, then with its log, and where the time goes."""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest

from engine.components.firing import FiringRequest, FiringResult
from engine.execution.executor import Executor
from engine.execution.firing_log import EpisodeLog
from engine.execution.record import Firing, FiringSink
from tests.execution.sketch import Builtin, Spec, emits, executor, loop, out, sketch, step

pytestmark = pytest.mark.benchmark

STEPS = 1000
ROUNDS = 3
PARTS = (
    "executor",
    "firer",
    "live",
    "seeds",
    "firing_log",
    "canonical",
    "log_values",
    "assets",
    "append_file",
)

NODES: dict[str, Spec] = {
    "reset": emits(obs=0, instruction="go to the red door"),
    **loop(init="obs instruction+", carry="obs"),
    "policy": step("obs instruction", "action"),
    "env": step("action", "obs reward done"),
    "actions": Builtin("actionLog"),
    "rewards": Builtin("trajectoryViewer"),
    "evaluate": step("trigger", "metrics"),
    "o": out("metrics"),
}
EDGES = [
    "reset.obs -> loop_in.init_obs",
    "reset.instruction -> loop_in.init_instruction",
    "loop_in.init_obs -> policy.obs",
    "loop_in.iterout_obs -> policy.obs",
    "loop_in.init_instruction -> policy.instruction",
    "policy.action -> env.action",
    "policy.action -> actions.action",
    "env.obs -> loop_out.obs",
    "env.reward -> rewards.reward",
    "env.done -> loop_out.stop",
    "loop_out.final_stop -> evaluate.trigger",
    "evaluate.metrics -> o.value",
]
FIRINGS = 1 + 6 * STEPS + 2
PLAN = sketch(NODES, EDGES)


class Instant:
    """A handler that answers at once, with what a host's proxy would have measured."""

    def __init__(self, answer: Callable[[int], dict[str, Any]]) -> None:
        self._answer = answer

    async def fire(self, request: FiringRequest) -> FiringResult:
        return FiringResult(self._answer(request.step), compute_ms=1.0, transport_ms=0.3, transfer_bytes=300)


class Forgetful:
    def firing(self, firing: Firing) -> None: ...
    def checkpoint(self, step: int, containers: Mapping[str, Any]) -> None: ...
    def boundary(self) -> None: ...


def small(at: int) -> dict[str, Any]:
    pose = {"position": [0.5, 1.5, at], "orientation": [0.0, 0.0, 0.0, 1.0]}
    return {"obs": {"pose": pose, "text": "a corridor with two doors"}, "reward": 0.1, "done": False}


def frames(at: int) -> dict[str, Any]:
    image = numpy.full((64, 64, 3), at % 251, dtype=numpy.uint8)
    image[at % 64] = at % 256
    image.flags.writeable = False  # as those that come from a host
    return {"obs": image, "reward": 0.1, "done": False}


def episode(observe: Callable[[int], dict[str, Any]], log: FiringSink) -> Executor:
    handlers = {
        "policy": Instant(lambda at: {"action": "forward"}),
        "env": Instant(observe),
        "evaluate": Instant(lambda at: {"metrics": {"success": 1.0}}),
    }
    return executor(PLAN, NODES, budget=STEPS, log=log, handlers=handlers)[0]


@pytest.mark.parametrize("observe", [small, frames])
def test_cost_of_a_firing(observe, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folders = (tmp_path / str(number) for number in range(100))

    def without_log() -> None:
        asyncio.run(episode(observe, Forgetful()).run())

    def with_log() -> Path:
        folder = next(folders)
        folder.mkdir()
        log = EpisodeLog(folder)
        asyncio.run(episode(observe, log).run())
        log.close()
        return folder

    rounds = [(cost(without_log), cost(with_log)) for _ in range(ROUNDS)]
    (bare, _), (logged, whole) = (min(costs) for costs in zip(*rounds, strict=True))
    profile = cProfile.Profile()
    folder = profile.runcall(with_log)
    with capsys.disabled():
        print(f"\n{observe.__name__}: µs a firing, best of {ROUNDS} x {FIRINGS}")
        print(f"  {bare:6.1f} without log\n  {logged:6.1f} with log")
        print(f"  {whole:6.1f} with log, the thread that writes assets included")
        for name, share in shares(profile):
            print(f"  {share:6.0%} {name}")
    assert (folder / "log.jsonl").read_bytes().count(b"\n") == FIRINGS


def cost(run: Callable[[], Any]) -> tuple[float, float]:
    """CPU of this thread and of the process, in µs a firing."""
    thread, process = time.thread_time(), time.process_time()
    run()
    return (
        (time.thread_time() - thread) / FIRINGS * 1e6,
        (time.process_time() - process) / FIRINGS * 1e6,
    )


def shares(profile: cProfile.Profile) -> list[tuple[str, float]]:
    """Time under the profiler by module; what C code took counts for the module that called it."""
    spent: dict[str, float] = {}
    for (file, _, _), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():
        parts = {file: own} if file != "~" else {}
        for (caller, _, _), (_, _, share, _) in callers.items() if file == "~" else ():
            parts[caller] = parts.get(caller, 0.0) + share
        for part, seconds in parts.items():
            spent[Path(part).stem] = spent.get(Path(part).stem, 0.0) + seconds
    total = sum(spent.values())
    return sorted(((name, spent.get(name, 0.0) / total) for name in PARTS), key=lambda item: -item[1])
