"""Episodes that are played several times, in real runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.control.reader import Reader
from engine.statistics.repeats import pass_at_k
from engine.store.runs import read_rows, view_run
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import finished, make_root

GRAPH = env_graph("env_coin")


@pytest.mark.slow
def test_every_repeat_is_an_episode_of_its_own_at_every_worker_count(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    runs = [
        finished(root, GRAPH, episode_count=8, repeats=3, worker_count=workers, seed=2) for workers in (1, 3)
    ]
    rows = read_rows(runs[0])
    assert [(row.episode_index, row.repeat) for row in rows] == [(i, r) for i in range(8) for r in (1, 2, 3)]
    assert len({row.seed for row in rows}) == 24
    assert (runs[0].episodes / "ep0003_r2" / "episode.json").exists()
    once = finished(root, GRAPH, episode_count=8, seed=2)
    assert [row.seed for row in read_rows(once)] == [row.seed for row in rows if row.repeat == 1]
    heads = [view_run(run).head for run in runs]
    assert {head.total_episodes for head in heads} == {24}
    assert len({head.result_digest for head in heads}) == 1


def test_pass_rates_come_from_the_repeats(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    run = finished(root, GRAPH, episode_count=10, repeats=3, worker_count=2)
    found = Reader(root).results(run.run_id)
    passed = [
        sum(r.metrics["success"] or 0 for r in read_rows(run) if r.episode_index == i) for i in range(10)
    ]
    assert found.repeats is not None
    assert [rate.k for rate in found.repeats.rates] == [1, 2, 3]
    pair = found.repeats.rates[1].at_least_one
    assert pair is not None
    assert abs(pair.mean - sum(pass_at_k(3, int(c), 2) for c in passed) / 10) < 1e-12
    assert found.repeats.flaky == sum(0 < c < 3 for c in passed) > 0
    estimate = found.headline.estimate
    assert estimate is not None
    assert (estimate.n, estimate.by, estimate.groups) == (30, "episode", 10)
