"""Nodes that go, and come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.control.reports import StillAliveError
from tests.fakes.graphs import env_graph
from tests.fakes.slurm_cluster import Cluster
from tests.scheduling.slurm.towers import claims, let_end, processes_of, rows_of, tower

pytestmark = pytest.mark.slurm

DIARY: dict[str, Any] = {
    "graph": env_graph("env_diary"),
    "graph_name": "diary",
    "episode_count": 8,
    "worker_count": 2,
    "seed": 3,
}
SLOW = {"selectors": {"pause": 0.3}}


def down(cluster: Cluster, node: str) -> None:
    """The controller is told what it would come to see in its own time."""
    cluster.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")


def test_a_result_counts_more_than_what_slurm_says(root: Path, own_cluster: Cluster) -> None:
    with tower(root, own_cluster, late_sec=30.0) as box:
        run = box.start("gate", on="slurm:small")
        box.begun(run)
        own_cluster.kill_node("n2")
        box.wait_for(lambda: processes_of(run))
        down(own_cluster, "n2")
        box.wait_for(lambda: box.note(run).state in ("NODE_FAIL", "FAILED"))
        assert "its node failed, or was lost" in box.note(run).why
        let_end(run)
        report = box.over(run)
        assert report.status == "completed"
        assert (claims(run), len(rows_of(run))) == (1, 1)
        own_cluster.start_node("n2")


def test_a_run_whose_node_lost_its_power_goes_on_where_it_was(world: Path, own_cluster: Cluster) -> None:
    with tower(world, own_cluster) as box:
        whole = box.submit(**DIARY, **SLOW, on="")
        run = box.submit(**DIARY, **SLOW, on="slurm:small")
        box.begun(run, 2)
        own_cluster.power_off("n2")
        down(own_cluster, "n2")
        box.wait_for(lambda: box.note(run).state in ("NODE_FAIL", "FAILED"))
        with pytest.raises(StillAliveError):
            box.control.resume(run.run_id)
        report = box.over(run)
        assert report.status == "aborted"
        assert "its node failed, or was lost (Slurm: " in (report.summary.error or "")
        kept = len(rows_of(run))
        assert 2 <= kept == report.summary.completed_count < 8
        own_cluster.start_node("n2")
        box.control.resume(run.run_id)
        ends = [box.over(one).summary for one in (run, whole)]
        assert ends[0].status == "completed"
        assert ends[0].result_digest == ends[1].result_digest
        assert claims(run) == 2
        assert len(run.episode_rows.read_text().splitlines()) == 8


def test_what_runs_on_beyond_a_cut_writes_nothing_more(world: Path, own_cluster: Cluster) -> None:
    with tower(world, own_cluster) as box:
        asked: dict[str, Any] = {**DIARY, "selectors": {"pause": 2.0}}
        whole = box.submit(**asked, on="")
        first = box.submit(**{**asked, "worker_count": 3, "episode_count": 1000})
        box.begun(first)
        run = box.submit(**asked)
        box.begun(run)
        assert (box.note(first).node, box.note(run).node) == ("n1", "n2")
        own_cluster.cut("n2")
        down(own_cluster, "n2")
        report = box.over(run, 90)
        assert report.status == "aborted"
        assert processes_of(run)
        kept = run.episode_rows.read_bytes()
        assert report.summary.completed_count == kept.count(b"\n") < 8
        # Its next row is what it finds out by.
        box.wait_for(lambda: not processes_of(run))
        assert run.episode_rows.read_bytes() == kept
        box.control.resume(run.run_id)
        box.control.cancel(first.run_id)
        ends = [box.over(one, 100).summary for one in (run, whole)]
        assert [end.status for end in ends] == ["completed", "completed"]
        assert ends[0].result_digest == ends[1].result_digest
        assert run.episode_rows.read_bytes().startswith(kept)
        assert (claims(run), box.note(run).node) == (2, "n1")
        own_cluster.uncut("n2")
