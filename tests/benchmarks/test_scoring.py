"""What judges cost a run: none, behind the episodes, and behind a barrier after all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.store.rundir import RunDir
from engine.store.runs import read_rows
from tests.evaluation.run_checks import until
from tests.fakes.chat_server import ChatServer, Handler, chat_server, says
from tests.fakes.real_runs import RUN_DEADLINE_SEC, attempt, make_root, write_run
from tests.scoring.scored_runs import GRAPH, settle, stage_of, verdicts

EPISODES, STEPS, STEP_MS, WORKERS = 100, 80, 20.0, 4
JUDGE_SEC = 0.5
JUDGES = [{"id": name, "profile": "local"} for name in ("j1", "j2")]
EXECUTION_SEC = EPISODES * STEPS * STEP_MS / 1000 / WORKERS
AIM = 1.15


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(answer=verdicts) as running:
        yield running


def answers_after(wait: Callable[[], object]) -> Callable[[Handler, dict[str, Any]], None]:
    def act(handler: Handler, body: dict[str, Any]) -> None:
        wait()
        time.sleep(JUDGE_SEC)
        says()(handler, body)

    return act


def run_sec(
    root: Path, name: str, gate: threading.Event | None = None, **request: Any
) -> tuple[RunDir, float]:
    """Wall seconds of a run's process. ``gate``: opened once its last episode is over."""
    selectors = {"journal": str(root / f"{name}.jsonl"), "steps": STEPS, "wait_ms": STEP_MS}
    asked: dict[str, Any] = {"episode_count": EPISODES, "worker_count": WORKERS, "selectors": selectors}
    run = write_run(root, GRAPH, **asked, **request)
    began = time.perf_counter()
    with attempt(run) as process:
        if gate is not None:
            until(lambda: _released(run) == EPISODES, process)
            gate.set()
        process.wait(3 * RUN_DEADLINE_SEC)
        took = time.perf_counter() - began
    assert run.read_summary().status == "completed", run.read_summary().error
    return run, took


def _released(run: RunDir) -> int:
    progress = run.read_progress()
    return sum(worker.episodes_done for worker in progress.workers) if progress is not None else 0


@pytest.mark.benchmark
@pytest.mark.timeout(900)
def test_judges_behind_the_episodes(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_root(tmp_path)
    _, without = run_sec(root, "without")

    settle(root, server, cache="behind.jsonl")
    server.acts.extend([answers_after(lambda: None)] * EPISODES * len(JUDGES))
    run, behind = run_sec(root, "behind", scoring={"judges": JUDGES})
    asked, at_once = len(server.asked), server.most_at_once

    settle(root, server, cache="barrier.jsonl")
    gate = threading.Event()
    server.acts.extend([answers_after(gate.wait)] * EPISODES * len(JUDGES))
    _, barrier = run_sec(root, "barrier", gate, scoring={"judges": JUDGES})

    for row in read_rows(run):
        assert len(row.scores) == len(JUDGES)
        assert stage_of(row, "judge:j1").started_at >= stage_of(row, "release").finished_at
    assert asked == EPISODES * len(JUDGES)
    with capsys.disabled():
        print(
            f"\nscoring: {EPISODES} episodes of {STEPS} steps of {STEP_MS:g} ms, {WORKERS} workers"
            f" ({EXECUTION_SEC:g} s of steps), {len(JUDGES)} judges of {JUDGE_SEC:g} s, {at_once} at once"
        )
        print(f"  without judges         {without:6.1f} s")
        print(f"  behind the episodes    {behind:6.1f} s, ratio {behind / without:.2f}  (aim {AIM:g})")
        print(f"  after a barrier        {barrier:6.1f} s, ratio {barrier / without:.2f}")
    assert behind < barrier
