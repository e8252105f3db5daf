"""The controller dies, or does not answer; the backend dies, or is ended."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.store.rundir import RunDir, runs_folder
from tests.control.test_backend_killed import killed_at_last
from tests.fakes.slurm_cluster import Cluster
from tests.scheduling.slurm.towers import Tower, claims, let_end, rows_of, tower

pytestmark = pytest.mark.slurm


def jobs_of(box: Tower, *runs: RunDir) -> int:
    """How many jobs the cluster had for these."""
    names = {run.run_id for run in runs}
    return sum(
        name in names for name in box.cluster.run("squeue", "-h", "-a", "-t", "all", "-o", "%j").split()
    )


def test_a_controller_that_dies_comes_back_to_the_same_jobs(root: Path, own_cluster: Cluster) -> None:
    with tower(root, own_cluster) as box:
        first = box.start("gate", on="slurm:small", worker_count=3)
        box.begun(first)
        second = box.start("gate", on="slurm:small", worker_count=3)
        box.wait_for(lambda: "Resources" in box.why(second))
        numbers = [box.number(run) for run in (first, second)]
        saved, comment = own_cluster.conf.parent / "state" / "job_state", box.job(numbers[1])["Comment"]
        box.wait_for(lambda: comment.encode() in saved.read_bytes())
        own_cluster.kill_controller()
        third = box.start()
        box.wait_for(lambda: box.why(third).startswith("cluster_silent: "))
        let_end(first)
        assert box.over(first).status == "completed"
        own_cluster.start_controller()
        box.begun(second)
        assert [box.number(run) for run in (first, second)] == numbers
        let_end(second)
        for run in (second, third):
            assert box.over(run).status == "completed"
        assert [claims(run) for run in (first, second, third)] == [1, 1, 1]
        assert jobs_of(box, first, second, third) == 3


def test_a_controller_without_its_memory_gets_again_what_had_not_begun(
    root: Path, own_cluster: Cluster
) -> None:
    with tower(root, own_cluster) as box:
        first = box.start("gate", on="slurm:small", worker_count=3)
        box.begun(first)
        second = box.start(on="slurm:small", worker_count=3)
        box.wait_for(lambda: "Resources" in box.why(second))
        before = second.read_job()
        own_cluster.kill_controller()
        shutil.rmtree(own_cluster.conf.parent / "state")
        (own_cluster.conf.parent / "state").mkdir()
        own_cluster.start_controller()
        # The nodes end what their controller knows nothing of.
        report = box.over(first)
        assert report.status == "aborted"
        assert (report.summary.completed_count, claims(first)) == (1, 1)
        assert box.over(second).status == "completed"
        after = second.read_job()
        assert after.attempt == before.attempt + 1
        assert after.token != before.token
        assert claims(second) == 1
        assert not (second.attempt(1) / "exit.json").exists()
        box.control.resume(first.run_id)
        box.begun(first, 2)
        let_end(first)
        assert box.over(first).status == "completed"


def test_a_job_that_was_taken_in_silence_is_not_handed_over_twice(root: Path, own_cluster: Cluster) -> None:
    with tower(root, own_cluster) as box:
        box.control.pause()
        runs = [box.start("gate") for _ in range(2)]
        own_cluster.silence_controller()
        box.control.unpause()
        for run in runs:
            box.waits(run, "cluster_silent: ", 90)
        ticks = box.control.live.scheduler.decisions
        box.wait_for(lambda: box.control.live.scheduler.decisions is not ticks)
        own_cluster.wake_controller()
        for run in runs:
            box.begun(run)
        for run in runs:
            let_end(run)
            assert box.over(run).status == "completed"
            assert claims(run) == len(rows_of(run)) == 1
        assert jobs_of(box, *runs) == 2


def test_ticks_go_on_while_the_controller_is_silent(root: Path, own_cluster: Cluster) -> None:
    with tower(root, own_cluster) as box:
        ticks: list[object] = []

        def ticked(times: int) -> bool:
            decided = box.control.live.scheduler.decisions
            if not ticks or ticks[-1] is not decided:
                ticks.append(decided)
            return len(ticks) >= times

        there = box.start("hang")
        box.begun(there)
        seen_at = box.control.live._slurm._clerk.seen_at
        own_cluster.silence_controller()
        box.control.cancel(there.run_id)
        here = box.start(on="")
        assert box.over(here).status == "completed"
        box.wait_for(lambda: ticked(20))
        clerk = box.control.live._slurm._clerk
        assert box.running(there) is not None
        own_cluster.wake_controller()
        assert box.over(there).status == "cancelled"
        assert clerk.seen_at != seen_at


def test_a_backend_that_is_ended_leaves_them_to_the_next(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster, leave=True) as box:
        first = box.start("gate", on="slurm:small", worker_count=3)
        box.begun(first)
        second = box.start(on="slurm:small", worker_count=3)
        ended = box.start("gate")
        box.begun(ended)
        box.wait_for(lambda: "Resources" in box.why(second))
        before = [run.read_job() for run in (first, second)]
        box.control.live.end(cancel=False)
        assert box.control.live.may_end
    let_end(ended)
    cluster.wait_for(ended.is_done)
    with tower(root, cluster) as box:
        told = f"ended while no backend lived: {ended.run_id}"
        assert any(told in notice for notice in box.control.live.notices.texts)
        box.wait_for(lambda: box.running(first) and "Resources" in box.why(second))
        assert [(run.attempt, run.token) for run in before] == [
            (run.read_job().attempt, run.read_job().token) for run in (first, second)
        ]
        let_end(first)
        for run in (first, second, ended):
            assert box.over(run).status == "completed"
            assert claims(run) == len(rows_of(run)) == 1
        assert jobs_of(box, first, second, ended) == 3


def test_a_backend_that_is_killed_leaves_them_to_the_next(root: Path, cluster: Cluster) -> None:
    with killed_at_last(root) as backend:
        backend.tell("away hang", "away nap", "away hang")
        cluster.wait_for(lambda: sum(word == "accepted" for word, *_ in backend.said) == 3)
        first, napping, last = (
            RunDir(runs_folder(root) / words[1]) for words in backend.said if words[0] == "accepted"
        )
        cluster.wait_for(lambda: len(rows_of(first)) == 1 and last.read_job().cluster)
        backend.kill()
    with tower(root, cluster) as box:
        assert box.over(napping).status == "completed"
        for run in (first, last):
            box.begun(run)
            box.control.cancel(run.run_id)
            assert box.over(run).status == "cancelled"
        assert [claims(run) for run in (first, napping, last)] == [1, 1, 1]
