"""Runs that end once an interval is narrow, in real processes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from engine.control.verify import compare_runs
from engine.store.jsonl import read_records
from engine.store.records import EpisodeFile, EpisodeRow
from engine.store.runs import read_rows, view_run
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import finished, make_root

GRAPH = env_graph("env_coin")
WIDTH = 0.25


@pytest.mark.slow
def test_the_same_episodes_and_one_digest_at_1_and_4_workers(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    runs = [
        finished(root, GRAPH, episode_count=400, worker_count=workers, until_width=WIDTH)
        for workers in (1, 4)
    ]
    heads = [view_run(run).head for run in runs]
    assert {head.status for head in heads} == {"completed"}
    assert len({head.result_digest for head in heads}) == 1
    assert compare_runs(runs).verdict == "same"
    for run, head in zip(runs, heads, strict=True):
        rows = read_rows(run)
        assert head.early_stop is not None
        assert head.early_stop.planned == 400
        assert 30 <= head.total_episodes == head.completed_count == len(rows) < 400
        assert [row.episode_index for row in rows] == list(range(len(rows)))
        assert run.read_summary().episodes == rows
        interval = head.metric_stats["success"].ci95
        assert interval is not None
        assert interval[1] - interval[0] <= WIDTH


@pytest.mark.slow
def test_what_was_played_beyond_stays_on_disk_and_does_not_count(tmp_path: Path) -> None:
    run = finished(make_root(tmp_path), GRAPH, episode_count=400, worker_count=4, until_width=WIDTH)
    head = view_run(run).head
    last = {row.identity: row for row in read_records(run.episode_rows, EpisodeRow)}
    beyond = [row for row in last.values() if row.beyond_stop]
    assert head.early_stop is not None
    assert len(beyond) == head.early_stop.beyond > 0
    assert {row.identity for row in beyond}.isdisjoint(row.identity for row in read_rows(run))
    for row in beyond:
        assert row.episode_index >= head.total_episodes
        path = run.episodes / f"ep{row.episode_index:04d}" / "episode.json"
        assert msgspec.json.decode(path.read_bytes(), type=EpisodeFile).episode == row


@pytest.mark.slow
def test_a_width_that_is_not_reached_plays_the_whole_list(tmp_path: Path) -> None:
    run = finished(make_root(tmp_path), GRAPH, episode_count=35, worker_count=2, until_width=0.01)
    head = view_run(run).head
    assert (head.status, head.completed_count, head.early_stop) == ("completed", 35, None)
