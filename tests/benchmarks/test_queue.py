"""What the queue costs: submissions that are durable when they are answered, a tick, a restart, and the time
from a submission to the first step of its first episode."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import pytest

from engine.control.plans import plan_run
from engine.control.reports import StartRequest
from tests.fakes.live_backend import LiveControl, live
from tests.fakes.many_runs import make_many_runs
from tests.fakes.workspace import make_root

pytestmark = pytest.mark.benchmark

OLD, QUEUED, SUBMISSIONS, TICKS, STARTS = 10_000, 500, 50, 20, 3


def request(graph: str = "toy", **more: object) -> StartRequest:
    return StartRequest(graph_name=graph, marginal_vram_mb=0, **more)  # type: ignore[arg-type]


def fsync_ms(folder: Path) -> float:
    """One durable write of a small file here."""
    began = time.perf_counter()
    for number in range(20):
        descriptor = os.open(folder / "probe", os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, b"x" * (1000 + number))
        os.fsync(descriptor)
        os.close(descriptor)
    return (time.perf_counter() - began) * 50


def submissions(control: LiveControl) -> str:
    control.start(request())
    began = time.perf_counter()
    for _ in range(SUBMISSIONS):
        control.start(request())
    each = (time.perf_counter() - began) * 1e3 / SUBMISSIONS
    began = time.perf_counter()
    for _ in range(SUBMISSIONS):
        plan_run(control.root, request())
    checks = (time.perf_counter() - began) * 1e3 / SUBMISSIONS
    return (
        f"{1e3 / each:.0f} submissions a second: {each:.0f} ms each, {checks:.0f} of them to find and check"
        f" graph and nodesets, the rest for 8 flushes to disk of {fsync_ms(control.root):.1f} ms each"
    )


@pytest.mark.timeout(900)
def test_time_to_queue_and_to_tick(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_root(tmp_path / "root")
    make_many_runs(root, OLD, 10)
    with live(root, leave=True) as control:
        control.pause()
        told = submissions(control)
        while len(control.live.queue.jobs) < QUEUED:
            control.start(request())
        control.stop_ticking()
        ticks = []
        for _ in range(TICKS):
            began = time.perf_counter()
            control.live.tick()
            ticks.append((time.perf_counter() - began) * 1e3)
            time.sleep(0.1)
        began = time.perf_counter()
        control.queue()
        shown = (time.perf_counter() - began) * 1e3
    began = time.perf_counter()
    with live(root, leave=True) as control:
        again = (time.perf_counter() - began) * 1e3
        assert len(control.live.queue.jobs) == QUEUED
    with capsys.disabled():
        print(f"\n{told}")
        print(f"with {QUEUED} queued and {OLD} old runs, ms of wall time:")
        print(
            f"  a tick           {statistics.median(ticks):8.1f}  median of {TICKS}; longest {max(ticks):.1f}"
        )
        print(f"  the queue, told  {shown:8.1f}")
        print(f"  a restart        {again:8.1f}")


@pytest.mark.timeout(300)
def test_time_to_the_first_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = []
    with live(make_root(tmp_path / "root")) as control:
        control.check("gridhouse_expert")
        for _ in range(STARTS):
            began = time.perf_counter()
            run = control.start(request("gridhouse_expert", episode_count=1))
            while not any((tmp_path / "root/outputs/eval_runs" / run).glob("episodes/*/log.jsonl")):
                assert time.perf_counter() - began < 60
                time.sleep(0.005)
            taken.append(time.perf_counter() - began)
            while not control.live.is_idle:
                time.sleep(0.01)
    with capsys.disabled():
        told = ", ".join(f"{seconds:.2f}" for seconds in taken)
        print(f"\nfrom a submission of gridhouse_expert to the log of its first step, s: {told}")
