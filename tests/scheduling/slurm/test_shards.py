"""A run that is split over the two nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.store.rundir import RunDir
from tests.fakes.graphs import env_graph
from tests.fakes.slurm_cluster import Cluster
from tests.scheduling.slurm.towers import claims, processes_of, rows_of, tower

pytestmark = pytest.mark.slurm

DIARY: dict[str, Any] = {
    "graph": env_graph("env_diary"),
    "graph_name": "diary",
    "episode_count": 16,
    "worker_count": 2,
    "seed": 3,
}
SLOW = {"selectors": {"pause": 0.4}}
SPLIT = {"nodes": 2}


def attempts(run: RunDir) -> list[int]:
    return [claims(RunDir(shard.own)) for shard in run.shards()]


def test_it_comes_to_what_one_machine_comes_to(world: Path, cluster: Cluster) -> None:
    with tower(world, cluster) as box:
        whole = box.submit(**DIARY, on="")
        run = box.submit(**DIARY, **SPLIT, marginal_vram_mb=None)
        box.wait_for(lambda: box.note(run).node in ("n1,n2", "n2,n1"))
        assert box.note(run).gpus == 2
        ends = [box.over(one).summary for one in (run, whole)]
        assert [end.status for end in ends] == ["completed", "completed"]
        assert ends[0].result_digest == ends[1].result_digest
        assert (ends[0].completed_count, len(rows_of(run))) == (16, 16)
        assert attempts(run) == [1, 1]
        numbers = box.note(run).job_id.split(",")
        assert sorted(box.job(number)["JobName"] for number in numbers) == [
            f"{run.run_id}.{k}" for k in (0, 1)
        ]


def test_only_the_rest_of_a_shard_that_was_lost_is_played_again(world: Path, own_cluster: Cluster) -> None:
    with tower(world, own_cluster) as box:
        run = box.submit(**DIARY, **SLOW, **SPLIT)
        box.wait_for(lambda: all(len(rows_of(RunDir(run.path, shard))) >= 1 for shard in (0, 1)))
        lost = next(k for k in (0, 1) if box.note(RunDir(run.path, k)).node == "n2")
        own_cluster.power_off("n2")
        own_cluster.run("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=test")
        report = box.over(run)
        assert report.status == "aborted"
        assert "Slurm: " in (report.summary.error or "")
        assert "exit code" not in (report.summary.error or "")
        kept = rows_of(run)
        assert 8 < len(kept) == report.summary.completed_count < 16
        own_cluster.start_node("n2")
        whole = box.submit(**DIARY, **SLOW, on="")
        box.control.resume(run.run_id)
        ends = [box.over(one).summary for one in (run, whole)]
        assert ends[0].status == "completed"
        assert ends[0].result_digest == ends[1].result_digest
        assert len(run.episode_rows.read_text().splitlines()) == 16
        assert attempts(run)[lost] == 2
        assert attempts(run)[1 - lost] == 1


def test_it_is_cancelled_as_one(world: Path, cluster: Cluster) -> None:
    with tower(world, cluster) as box:
        run = box.submit(**DIARY, **SPLIT, selectors={"pause": 2.0})
        box.begun(run)
        box.control.cancel(run.run_id)
        report = box.over(run)
        assert report.status == "cancelled"
        assert report.summary.completed_count == len(rows_of(run)) >= 1
        assert processes_of(run) == []
        numbers = box.note(run).job_id
        box.wait_for(lambda: not cluster.run("squeue", "-h", "-j", numbers))
        box.control.resume(run.run_id)
        box.begun(run, report.summary.completed_count + 1)
        box.control.cancel(run.run_id)
        assert box.over(run).status == "cancelled"


def test_where_one_shard_is_refused_the_run_is(world: Path, cluster: Cluster) -> None:
    with tower(world, cluster) as box:
        box.control.pause()
        cluster.run("scontrol", "create", "PartitionName=brief", "Nodes=n1,n2")
        run = box.submit(**DIARY, **SPLIT, on="slurm:brief")
        cluster.run("scontrol", "delete", "PartitionName=brief")
        box.control.unpause()
        report = box.over(run)
        assert report.status == "error"
        assert "invalid partition" in (report.summary.error or "")
        assert attempts(run) == [0, 0]
        cluster.run("scontrol", "create", "PartitionName=brief", "Nodes=n1,n2")
        box.control.resume(run.run_id)
        assert box.over(run).status == "completed"
        cluster.run("scontrol", "delete", "PartitionName=brief")
