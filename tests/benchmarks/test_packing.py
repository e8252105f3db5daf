"""How full the cards get, by the rule that admits; and what a tick costs."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from engine.scheduling.simulation_file import Load, SimulatedCard, Simulation
from tests.scheduling.making import GB, job
from tests.scheduling.traces import (
    Oracle,
    Outcome,
    Reference,
    Trace,
    make_trace,
    one_job_a_gpu,
    run_ours,
    run_rule,
)
from tests.scheduling.world import Backend, Life, World

pytestmark = pytest.mark.benchmark

TRACES = 40
QUEUED, RUNNING, TICKS = 500, 24, 30


RULES: dict[str, Callable[[Trace], Outcome]] = {
    "ours": run_ours,
    "the reference's rule": lambda trace: run_rule(trace, Reference()),
    "one job a GPU": lambda trace: run_rule(trace, one_job_a_gpu),
    "oracle": lambda trace: run_rule(trace, Oracle()),
}


def by_every_rule(seed: int) -> dict[str, Outcome]:
    trace = make_trace(seed)
    return {name: rule(trace) for name, rule in RULES.items()}


@pytest.mark.timeout(900)
def test_packing(capsys: pytest.CaptureFixture[str]) -> None:
    traces = [make_trace(seed) for seed in range(TRACES)]
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as cores:
        found_by_all = list(cores.map(by_every_rule, range(TRACES)))
    outcomes = {name: [by_rule[name] for by_rule in found_by_all] for name in RULES}
    until = [best.busy_sec for best in outcomes["oracle"]]
    jobs = sum(len(trace.arrivals) for trace in traces)
    with capsys.disabled():
        print(f"\npacking: {TRACES} random traces, {jobs} jobs; memory that runs took, of all there is,")
        print("until the oracle's queue is empty; the oracle knows every true peak")
        for name, found in outcomes.items():
            packed = statistics.fmean(each.packed(at) for each, at in zip(found, until, strict=True))
            failed = sum(len(each.out_of_memory) for each in found)
            hours = sum(each.finished_sec for each in found) / 3600
            print(
                f"  {name:22} {packed:6.1%} packed, {hours:6.1f} h until all have ended,"
                f" {failed:4} out of memory ({failed / jobs:.1%})"
            )


def test_tick(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """500 jobs of 40 kinds wait for 8 cards that are full."""
    simulation = Simulation(
        ram_mb=2048 * GB,
        gpus=(SimulatedCard(total_mb=80 * GB),) * 8,
        loads=(Load(vram_mb=24 * GB, ram_mb=GB),),
    )
    world = World(simulation, default_life=Life(1e9))
    backend = Backend(world, tmp_path)
    backend.submit(*(job(f"run{n}", graph=f"r{n}", marginal_vram_mb=26 * GB) for n in range(RUNNING)))
    backend.tick()
    assert len(backend.running()) == RUNNING
    began = time.perf_counter()
    for number in range(QUEUED):
        kind = number % 40
        backend.submit(job(f"wait{number}", graph=f"g{kind}", marginal_vram_mb=(4 + kind) * GB))
    submitted = time.perf_counter() - began
    size = (tmp_path / "queue.json").stat().st_size
    backend.run_for(700, every=100)  # the oldest have waited their fair wait
    taken = []
    for _ in range(TICKS):
        began = time.perf_counter()
        backend.tick()
        taken.append(time.perf_counter() - began)
    waiting = backend.scheduler.decisions.waiting
    middle, worst = statistics.median(taken) * 1e3, max(taken) * 1e3
    with capsys.disabled():
        print(f"\ntick: {len(waiting)} queued, {len(backend.running())} running on 8 cards, all simulated")
        print(f"  ms a tick, median (worst) of {TICKS}: {middle:.1f} ({worst:.1f})")
        print(
            f"  submissions a second, each on disk before the next: {QUEUED / submitted:.0f}, bounded by the"
        )
        print(f"  queue's file: replaced whole, with two fsyncs each time; {size / 1024:.0f} KiB in the end")
