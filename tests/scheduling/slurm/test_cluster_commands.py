"""Slurm's own commands, on the two nodes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.scheduling.launchers.slurm import commands
from engine.scheduling.launchers.slurm.commands import Listed, Slurm, SlurmRefusedError, SlurmSilentError
from tests.fakes.slurm_cluster import Cluster

pytestmark = pytest.mark.slurm

slurm = Slurm()


def script(folder: Path, *options: str, does: str = "sleep 600") -> Path:
    file = folder / "job.sh"
    lines = ["#!/bin/bash", *(f"#SBATCH {option}" for option in ("--output=/dev/null", *options)), does]
    file.write_text("\n".join([*lines, ""]))
    return file


def listed(job_id: str) -> Listed:
    return next(job for job in slurm.jobs() if job.job_id == job_id)


def test_a_job_is_listed_with_all_that_it_has(cluster: Cluster, tmp_path: Path) -> None:
    options = ("--job-name=20261129_1", "--comment=evaltower:ab", "--gres=gpu:1", "--nodelist=n2", "-p small")
    job_id = slurm.submit(script(tmp_path, *options))
    cluster.wait_for(lambda: listed(job_id).state == "RUNNING")
    job = listed(job_id)
    assert (job.name, job.comment, job.nodes, job.partition) == ("20261129_1", "evaltower:ab", "n2", "small")
    assert "gpu:1" in job.gres
    assert job.reason == ""
    assert job.submitted[:2] == job.start[:2] == "20"
    shown = slurm.show(job_id)
    assert (shown["JobId"], shown["JobState"], shown["Comment"]) == (job_id, "RUNNING", "evaltower:ab")
    slurm.cancel([job_id])
    cluster.wait_for(lambda: listed(job_id).state == "CANCELLED")


def test_one_that_ended_is_listed_still(cluster: Cluster, tmp_path: Path) -> None:
    good = slurm.submit(script(tmp_path, does="true"))
    bad = slurm.submit(script(tmp_path, does="exit 3"))
    cluster.wait_for(lambda: listed(good).state == "COMPLETED" and listed(bad).state == "FAILED")
    assert listed(bad).reason == "NonZeroExitCode"
    assert slurm.show(bad)["ExitCode"] == "3:0"


def test_one_that_waits_says_why(cluster: Cluster, tmp_path: Path) -> None:
    held = slurm.submit(script(tmp_path, "--hold"))
    first = slurm.submit(script(tmp_path, "--exclusive", "--nodes=2"))
    cluster.wait_for(lambda: listed(first).state == "RUNNING")
    second = slurm.submit(script(tmp_path))
    after = slurm.submit(script(tmp_path, f"--dependency=afterok:{first}"))
    cluster.wait_for(lambda: listed(second).reason == "Resources")
    assert listed(held).reason == "JobHeldUser"
    cluster.wait_for(lambda: listed(after).reason == "Dependency")
    assert listed(after).state == "PENDING"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--partition=nowhere", "invalid partition"),
        ("--gres=gpu:9", "not available"),
        ("--gres=tpu:1", "Invalid generic resource"),
        ("--mem=900G", "not available|Memory"),
        ("--nodelist=n9", "Invalid node name|not found"),
        ("--no-such-option", "unrecognized option"),
        ("--time=soon", "Invalid --time"),
    ],
)
def test_what_can_never_run_is_refused(cluster: Cluster, tmp_path: Path, option: str, said: str) -> None:
    with pytest.raises(SlurmRefusedError, match=f"(?i)sbatch: .*({said})"):
        slurm.submit(script(tmp_path, option))
    assert all(job.state != "PENDING" for job in slurm.jobs())


@pytest.mark.parametrize(
    "name", ["it's", 'a "b" c', "ünï—✓", "a|b;c", "$(id) `id`", "a%jb", "--x", "a=b,c", "\\n"]
)
def test_names_come_back_as_they_went(cluster: Cluster, tmp_path: Path, name: str) -> None:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    job_id = slurm.submit(script(tmp_path, f'--job-name="{quoted}"', f'--comment="{quoted}"'))
    assert (listed(job_id).name, listed(job_id).comment) == (name, name)


def test_only_one_that_waits_is_ended_as_one_that_waits(cluster: Cluster, tmp_path: Path) -> None:
    runs = slurm.submit(script(tmp_path))
    waits = slurm.submit(script(tmp_path, "--hold"))
    cluster.wait_for(lambda: listed(runs).state == "RUNNING")
    slurm.cancel_pending(runs)
    slurm.cancel_pending(waits)
    cluster.wait_for(lambda: listed(waits).state == "CANCELLED")
    assert listed(runs).state == "RUNNING"


def test_its_script_alone_is_asked_to_end(cluster: Cluster, tmp_path: Path) -> None:
    child = f"trap 'touch {tmp_path}/child' TERM; touch {tmp_path}/up; while :; do sleep 0.1; done"
    does = f"trap 'touch {tmp_path}/asked; exit 0' TERM\nbash -c \"{child}\" &\nwait"
    job_id = slurm.submit(script(tmp_path, does=does))
    cluster.wait_for(lambda: (tmp_path / "up").exists())
    slurm.ask_to_end(job_id)
    cluster.wait_for(lambda: listed(job_id).state == "COMPLETED")
    assert (tmp_path / "asked").exists()
    assert not (tmp_path / "child").exists()


def test_what_is_not_there_any_more_is_no_error(cluster: Cluster, tmp_path: Path) -> None:
    job_id = slurm.submit(script(tmp_path, does="true"))
    cluster.wait_for(lambda: listed(job_id).state == "COMPLETED")
    for gone in (job_id, "4000000"):
        slurm.cancel([gone])
        slurm.cancel_pending(gone)
        slurm.ask_to_end(gone)
    slurm.cancel([])
    assert slurm.show("4000000") == {}


def test_what_the_operator_has_set_for_himself_changes_nothing(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "SQUEUE_FORMAT": "%j",
        "SQUEUE_STATES": "FAILED",
        "SQUEUE_PARTITION": "small",
        "SLURM_TIME_FORMAT": "relative",
        "SBATCH_PARTITION": "nowhere",
        "SINFO_FORMAT": "%N",
        "SCANCEL_INTERACTIVE": "1",
    }.items():
        monkeypatch.setenv(name, value)
    job_id = slurm.submit(script(tmp_path, "--hold"))
    assert listed(job_id).submitted[:2] == "20"
    assert ("main*", "up", "gpu:2") in slurm.partitions()
    slurm.cancel([job_id])
    cluster.wait_for(lambda: listed(job_id).state == "CANCELLED")


def test_the_cluster_tells_what_it_has(cluster: Cluster) -> None:
    assert sorted(slurm.partitions()) == [("main*", "up", "gpu:2"), ("small", "up", "gpu:2")]
    assert {name for name, _ in slurm.nodes()} == {"n1", "n2"}
    assert slurm.version().startswith("slurm")


def test_a_controller_that_is_gone_is_silent(own_cluster: Cluster, tmp_path: Path) -> None:
    job_id = slurm.submit(script(tmp_path))
    own_cluster.kill_controller()
    asks: list[Callable[[], object]] = [
        slurm.jobs,
        slurm.partitions,
        lambda: slurm.submit(script(tmp_path)),
        lambda: slurm.show(job_id),
        lambda: slurm.cancel([job_id]),
        lambda: slurm.cancel_pending(job_id),
        lambda: slurm.ask_to_end(job_id),
    ]
    with ThreadPoolExecutor() as threads:  # each tries for seconds
        errors = [asked.exception() for asked in [threads.submit(ask) for ask in asks]]
    assert [type(error) for error in errors] == [SlurmSilentError] * len(asks)


def test_a_controller_that_does_not_answer_is_silent(
    own_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_cluster.silence_controller()
    with pytest.raises(SlurmSilentError):
        slurm.jobs()
    monkeypatch.setattr(commands, "ANSWER_SEC", 0.5)
    with pytest.raises(SlurmSilentError, match=r"sbatch did not answer within 0\.5 s"):
        slurm.submit(script(tmp_path))
    own_cluster.wake_controller()
    monkeypatch.undo()
