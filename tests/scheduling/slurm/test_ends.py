"""Runs on the cluster that are to end, or are ended by somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.store.attempts import Attempt
from tests.fakes.family import KINDS, living, read_family
from tests.fakes.family_run import FAMILY
from tests.fakes.slurm_cluster import Cluster
from tests.scheduling.slurm.towers import claims, let_end, processes_of, rows_of, tower

pytestmark = pytest.mark.slurm

BRIEF_SEC = 1.0


def test_one_that_waits_is_taken_out_of_the_clusters_queue(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster) as box:
        first = box.start("gate", on="slurm:small", worker_count=3)
        box.begun(first)
        second = box.start(on="slurm:small", worker_count=3)
        box.wait_for(lambda: "Resources" in box.why(second))
        number = box.number(second)
        assert box.control.cancel(second.run_id).status == "cancelling"
        assert box.over(second).status == "cancelled"
        assert cluster.state(number) == "CANCELLED"
        assert claims(second) == 0
        let_end(first)
        assert box.over(first).status == "completed"


@pytest.mark.parametrize("fake", ["hang", "deaf"])
def test_nothing_is_left_of_one_that_is_cancelled(root: Path, cluster: Cluster, fake: str) -> None:
    with tower(root, cluster) as box:
        run = box.start(fake)
        box.wait_for(lambda: (run.path / FAMILY).exists())
        family = read_family(run.path / FAMILY)
        assert set(living(family)) == set(KINDS)
        number = box.number(run)
        box.control.cancel(run.run_id)
        report = box.over(run)
        assert report.status == "cancelled"
        assert report.summary.completed_count == 1
        assert living(family) == []
        assert processes_of(run) == []
        ended = run.attempt(1) / "exit.json"
        assert ended.exists()
        box.wait_for(lambda: cluster.state(number) not in ("RUNNING", "COMPLETING"))


def test_who_cancels_again_may_be_less_patient(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster, grace_sec=600.0) as box:
        run = box.start("deaf")
        box.wait_for(lambda: (run.path / FAMILY).exists())
        box.control.cancel(run.run_id)
        job = box.wait_for(lambda: box.running(run))
        assert job is not None
        assert job.cancel_requested
        box.control.cancel(run.run_id, BRIEF_SEC)
        assert box.over(run).status == "cancelled"
        ended = Attempt.of(run.path, 1).read_exit()
        assert ended is not None
        assert ended.cancelled


def test_one_that_was_cancelled_by_hand_can_be_resumed(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster) as box:
        running, first = box.start("hang"), box.start("gate", on="slurm:small", worker_count=3)
        for run in (running, first):
            box.begun(run)
        waits = box.start(on="slurm:small", worker_count=3)
        cluster.run("scancel", box.number(running), box.number(waits))
        for run, rows in ((running, 1), (waits, 0)):
            report = box.over(run)
            assert report.status == "aborted"
            assert "cancelled on the cluster" in (report.summary.error or "")
            assert report.summary.completed_count == rows
        let_end(first)
        box.control.resume(waits.run_id)
        for run in (first, waits):
            assert box.over(run).status == "completed"
        box.control.resume(running.run_id)
        box.begun(running, 2)
        box.control.cancel(running.run_id)
        assert box.over(running).status == "cancelled"


def test_what_lingers_when_its_result_is_there_is_ended(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster, grace_sec=1.0) as box:
        run = box.start("stays")
        assert box.over(run).status == "completed"
        assert processes_of(run) == []
        box.wait_for(lambda: cluster.state(box.number(run)) != "RUNNING")


def test_a_copy_that_was_put_back_into_the_queue_is_fenced_off(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster) as box:
        run = box.start("hang")
        box.begun(run)
        number = box.number(run)
        cluster.run("scontrol", "update", f"JobId={number}", "Requeue=1")
        cluster.run("scontrol", "requeue", number)
        report = box.over(run)
        assert report.status == "aborted"
        assert claims(run) == len(rows_of(run)) == 1
        box.wait_for(lambda: cluster.state(number) == "PENDING")
        cluster.run("scontrol", "update", f"JobId={number}", "StartTime=now")
        box.wait_for(lambda: cluster.state(number) == "FAILED")
        assert claims(run) == len(rows_of(run)) == 1
        box.control.resume(run.run_id)
        box.begun(run, 2)
        box.control.cancel(run.run_id)
        assert box.over(run).status == "cancelled"
        assert claims(run) == 2
