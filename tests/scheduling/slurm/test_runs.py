"""Runs on the cluster: submitted, placed, refused, in an order, and over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.control.reports import RefusedError
from engine.store.rundir import RunDir
from tests.fakes.family_run import FAMILY
from tests.fakes.graphs import env_graph
from tests.fakes.slurm_cluster import Cluster
from tests.scheduling.slurm.towers import claims, let_end, processes_of, rows_of, tower

pytestmark = pytest.mark.slurm

COIN = env_graph("env_coin")


COIN = env_graph("env_coin")


def test_a_run_is_a_job_that_asks_for_what_the_estimate_says(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster, cpus_per_worker=1.5) as box:
        run = box.start("hang", worker_count=2, marginal_vram_mb=None)
        box.begun(run)
        job, told = box.job(box.number(run)), run.read_job()
        script = run.attempt(1) / "job.sh"
        assert (job["JobName"], job["Command"], job["WorkDir"]) == (run.run_id, str(script), str(root))
        assert job["Comment"].startswith("evaltower:")
        assert told.token in script.read_text()
        assert told.token not in job["Comment"]
        assert job["Requeue"] == "0"
        assert job["CPUs/Task"] == "4"
        assert job["TRES"].startswith(f"cpu=4,mem={told.admit_charges['ram'] / 1024:g}G,node=1")
        assert job["TresPerNode"] == "gres:gpu:1"
        assert job["StdErr"] == str((run.path / "stderr.log").resolve())
        box.wait_for(lambda: box.note(run).state == "RUNNING")
        note = box.note(run)
        assert (note.on, note.job_id, note.node, note.gpus) == ("slurm", job["JobId"], job["NodeList"], 1)
        running = box.running(run)
        assert running is not None
        assert running.cluster == note


def test_what_it_comes_to_is_what_it_comes_to_here(world: Path, cluster: Cluster) -> None:
    with tower(world, cluster) as box:
        asked = {"graph": COIN, "graph_name": "coin", "episode_count": 6, "worker_count": 2, "seed": 5}
        there, here = box.submit(**asked), box.submit(**asked, on="")
        ends = [box.over(run).summary for run in (there, here)]
        assert [end.status for end in ends] == ["completed", "completed"]
        assert ends[0].result_digest == ends[1].result_digest
        assert ends[0].completed_count == 6
        box.wait_for(lambda: (there.attempt(1) / "exit.json").exists())
        assert there.read_job().state == "ended"


def test_a_root_may_have_any_name(
    root: Path, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / 'it\'s 100% "mine" #1 %j $HOME'
    root.rename(odd)
    with tower(odd, cluster) as box:
        run = box.start()
        report = box.over(run)
        assert report.status == "completed", (report.summary.error, report.stderr_tail)
        job = box.job(box.number(run))
        assert job["JobState"] == "COMPLETED"
        assert (run.attempt(1) / "exit.json").exists()


def test_why_a_run_waits_is_told(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster) as box:
        first = box.start("gate", on="slurm:small", worker_count=3)
        box.begun(first)
        second, third = (box.start(on="slurm:small", worker_count=3) for _ in range(2))
        asked = "cluster_queue: Slurm job {} waits in partition small: {} (Slurm: {})"
        for run, slurm, words in (
            (second, "Resources", "what it needs is taken by others at the moment"),
            (third, "Priority", "jobs of a higher priority go first"),
        ):
            told = asked.format(box.number(run), words, slurm)
            box.waits(run, told)
            note = box.note(run)
            assert (note.state, note.reason, note.node) == ("PENDING", slurm, "")
            assert note.why.startswith(told.partition(": ")[2]), (
                "with when it is to begin, where that is known"
            )
        cluster.run("scontrol", "uhold", box.number(second))
        cluster.run("scontrol", "update", f"JobId={box.number(third)}", "StartTime=now+1hour")
        box.wait_for(lambda: "scontrol release" in box.why(second))
        box.wait_for(lambda: "its begin time has not come (Slurm: BeginTime); it is exp" in box.why(third))
        cluster.run("scontrol", "release", box.number(second))
        cluster.run("scontrol", "update", f"JobId={box.number(third)}", "StartTime=now")
        let_end(first)
        for run in (first, second, third):
            assert box.over(run).status == "completed"


def test_runs_on_a_node_have_cards_of_their_own(root: Path, cluster: Cluster) -> None:
    def seen(run: RunDir) -> str:
        box.begun(run)
        box.wait_for(lambda: (run.path / FAMILY).exists())
        (cards,) = {process.environ().get("CUDA_VISIBLE_DEVICES", "all") for process in processes_of(run)}
        return cards

    with tower(root, cluster) as box:
        with_cards = [box.start("gate", on="slurm:small", marginal_vram_mb=4000.0) for _ in range(2)]
        assert sorted(seen(run) for run in with_cards) == ["0", "1"]
        third = box.start("gate", on="slurm:small", marginal_vram_mb=4000.0)
        without = box.start("gate", on="slurm")
        assert seen(without) == ""
        let_end(with_cards[0])
        assert seen(third) in ("0", "1")


@pytest.mark.parametrize(
    ("settings", "asked", "told"),
    [
        ({}, {"worker_count": 64}, "Requested node configuration is not available"),
        ({}, {"on": "slurm:nowhere"}, "invalid partition specified: nowhere"),
        ({"gres": "gpu:h100:1"}, {"marginal_vram_mb": None}, "Requested node configuration is not available"),
        ({"mem_mb": 1e6}, {}, "Requested node configuration is not available"),
        ({"extra": ["--no-such-option"]}, {}, "no-such-option"),
    ],
)
def test_what_no_node_could_ever_give_is_refused_at_once(
    root: Path, cluster: Cluster, settings: dict[str, Any], asked: dict[str, Any], told: str
) -> None:
    with tower(root, cluster, **settings) as box:
        with pytest.raises(RefusedError, match=told) as refused:
            box.start(**asked)
        assert "[slurm] in evaltower.toml" in str(refused.value)
        assert box.control.queue().queued == []
        assert list((root / "outputs" / "eval_runs").glob("*")) == []


def test_a_run_that_would_wait_for_its_own_server_is_refused_at_once(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster) as box:
        with pytest.raises(RefusedError, match="never room for all of it") as refused:
            box.submit(graph_name="cartpole_torch", worker_count=3, on="slurm:small")
        assert "policy_torch 1 CPU" in str(refused.value)
        assert "its nodes have 4 CPUs" in str(refused.value)
        assert box.control.queue().queued == []


def test_what_became_impossible_is_an_error_in_the_clusters_words(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster) as box:
        box.control.pause()
        cluster.run("scontrol", "create", "PartitionName=brief", "Nodes=n1")
        run = box.start(on="slurm:brief")
        cluster.run("scontrol", "delete", "PartitionName=brief")
        box.control.unpause()
        report = box.over(run)
        assert report.status == "error"
        assert "sbatch: " in (report.summary.error or "")
        assert "invalid partition" in (report.summary.error or "")
        cluster.run("scontrol", "create", "PartitionName=brief", "Nodes=n1")
        assert claims(run) == 0
        box.control.resume(run.run_id)
        assert box.over(run).status == "completed"
        cluster.run("scontrol", "delete", "PartitionName=brief")


def test_a_run_waits_for_those_that_it_depends_on(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster) as box:
        first = box.start("gate")
        second = box.start(depends_on=[first.run_id])
        here = box.start(depends_on=[second.run_id], on="")
        failed = box.start("fail")
        never = box.start(depends_on=[failed.run_id])
        box.begun(first)
        for run, other in ((second, first), (here, second)):
            box.waits(run, "dependency: ")
            assert other.run_id in box.why(run)
        assert box.over(failed).status == "error"
        box.wait_for(lambda: box.why(never).startswith("dependency_failed: "))
        let_end(first)
        for run in (first, second, here):
            assert box.over(run).status == "completed"
        assert not (never.path / "attempts").exists()


def test_both_stand_in_one_queue(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster) as box:
        there, here = box.start("hang"), box.start("hang", on="")
        for run in (there, here):
            box.begun(run)
        for run, away in ((here, False), (there, True)):
            standing = box.wait_for(lambda: box.running(run))  # noqa: B023
            assert standing is not None
            assert (standing.cluster is not None) is away
        box.control.pause()
        late = box.start()
        box.wait_for(lambda: box.why(late).startswith("queue_paused: "))
        for run in (there, here):
            box.control.cancel(run.run_id)
            assert box.over(run).status == "cancelled"
        box.control.unpause()
        assert box.over(late).status == "completed"


def test_time_that_is_over_keeps_the_rows(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster, time="1") as box:
        by_slurm, by_us = box.start("hang"), box.start("deaf", timeout_sec=4)
        box.begun(by_us)
        report = box.over(by_us)
        assert report.status == "error"
        assert "its time limit of 4 s is over" in (report.summary.error or "")
        report = box.over(by_slurm, 90)
        assert report.status == "aborted"
        assert "[slurm] time" in (report.summary.error or "")
        assert report.summary.completed_count == len(rows_of(by_slurm)) == 1
        box.control.resume(by_slurm.run_id)
        box.begun(by_slurm, 2)
        box.control.cancel(by_slurm.run_id)
        assert box.over(by_slurm).status == "cancelled"
        assert claims(by_slurm) == 2


def test_thirty_at_once(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster, cpus_per_worker=0.01, mem_mb=200) as box:
        runs = [box.start() for _ in range(30)]
        for run in runs:
            assert box.over(run, 100).status == "completed"
        assert [claims(run) for run in runs] == [1] * 30
        numbers = {box.number(run) for run in runs}
        assert len(numbers) == 30
