"""What a long history costs: a root with 10,000 finished runs, listed, paged and searched."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.store.run_index import index_path
from engine.store.runs import find_run, list_runs
from tests.fakes.finished_runs import make_run
from tests.fakes.many_runs import make_many_runs

pytestmark = pytest.mark.benchmark

RUNS, EPISODES, ROUNDS = 10_000, 100, 5


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


@pytest.mark.timeout(600)
def test_time_to_list_many_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = make_many_runs(tmp_path, RUNS, EPISODES)
    middle = runs[RUNS // 2].run_id
    cold_page = milliseconds(lambda: list_runs(tmp_path, limit=50))
    index_path(tmp_path).unlink()
    cold = milliseconds(lambda: list_runs(tmp_path))
    make_run(tmp_path)
    one_more = milliseconds(lambda: list_runs(tmp_path))
    warm = {
        "all": lambda: list_runs(tmp_path),
        "a page of 50": lambda: list_runs(tmp_path, limit=50),
        "a page of 50 in the middle": lambda: list_runs(tmp_path, limit=50, before=middle),
        "those that run": lambda: list_runs(tmp_path, status="running"),
        "find by id": lambda: find_run(tmp_path, middle),
        "find by label or beginning": lambda: find_run(tmp_path, middle[:-2]),
    }
    taken = {name: [milliseconds(work) for _ in range(ROUNDS)] for name, work in warm.items()}
    size = index_path(tmp_path).stat().st_size / 2**20
    with capsys.disabled():
        print(f"\n{RUNS} finished runs of {EPISODES} episodes, ms of wall time; index of {size:.1f} MB")
        print(f"  {'all, without an index':32} {cold:8.1f}")
        print(f"  {'a page of 50, without an index':32} {cold_page:8.1f}")
        print(f"  {'all, after one more has ended':32} {one_more:8.1f}")
        for name, times in taken.items():
            print(f"  {name:32} {statistics.median(times):8.1f}  median of {ROUNDS}")
    assert len(list_runs(tmp_path)) == RUNS + 1
