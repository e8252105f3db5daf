"""The writer of a run's files, without a run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from engine.evaluation.recorder import Recorder
from engine.store.fence import Fence
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import make_root, write_run

DEADLINE_SEC = 30.0


@pytest.mark.parametrize("turns", range(8))
async def test_it_finishes_whatever_it_was_just_told(tmp_path: Path, turns: int) -> None:
    run = write_run(make_root(tmp_path), env_graph("env_faulty"), episode_count=1)
    job = run.read_job()
    recorder = Recorder(run, run.read_summary(), "", Fence(run, job.attempt, job.token), pytest.fail)
    await recorder.start()
    async with asyncio.timeout(DEADLINE_SEC):
        while not run.progress.exists():
            recorder.show()
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)  # it has nothing to do, and waits for news
        recorder.show()
        for _ in range(turns):
            await asyncio.sleep(0)
        await recorder.finish("completed", None)
    assert run.is_done()
