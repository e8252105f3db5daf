"""The cluster that the other tests trust."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.fakes import slurm_cluster
from tests.fakes.slurm_cluster import SCRIPT, Cluster
from tests.scheduling.slurm.conftest import started

pytestmark = pytest.mark.slurm

STUBBORN = """#!/bin/bash
trap '' TERM
setsid sleep 600 &
(setsid sh -c 'sleep 601 & ' &)
echo up
while :; do sleep 1; done
"""


def of(conf: Path, node: str = "") -> list[psutil.Process]:
    """What knows this cluster by its environment or its arguments; of one node, its jobs alone."""
    found = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            told = [*process.cmdline(), *environment.values()]
        except psutil.Error:
            continue
        if process.pid == os.getpid() or node not in ("", environment.get("SLURMD_NODENAME")):
            continue
        if any(str(conf.parent) in word for word in told):
            found.append(process)
    return found


def submit(cluster: Cluster, tmp_path: Path, script: str, *options: str) -> str:
    file = tmp_path / "job.sh"
    file.write_text(script)
    return cluster.run("sbatch", "--parsable", f"--output={tmp_path}/out", *options, file)


def running(cluster: Cluster, job_id: str, tmp_path: Path) -> None:
    cluster.wait_for(lambda: (tmp_path / "out").exists() and "up" in (tmp_path / "out").read_text())
    assert cluster.state(job_id) == "RUNNING"


def test_nothing_is_left_of_it(own_cluster: Cluster, tmp_path: Path) -> None:
    running(own_cluster, submit(own_cluster, tmp_path, STUBBORN), tmp_path)
    assert len(of(own_cluster.conf)) >= 6
    own_cluster.stop()
    assert of(own_cluster.conf) == []
    assert not own_cluster.conf.parent.exists()


def test_nothing_is_left_where_its_test_was_killed(tmp_path: Path) -> None:
    code = (
        "import time; from tests.fakes.slurm_cluster import Cluster\n"
        "with Cluster() as c: print(c.conf, flush=True); time.sleep(600)"
    )
    test = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert test.stdout
    conf = Path(test.stdout.readline().strip())
    assert of(conf)
    test.kill()
    test.communicate()
    psutil.wait_procs(of(conf), timeout=20)
    assert of(conf) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_by_hand_it_stays_until_it_is_interrupted(number: int) -> None:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    conf = Path(process.stdout.readline().strip().removeprefix("export SLURM_CONF="))
    assert len(of(conf)) >= 3
    process.send_signal(number)
    assert process.wait(20) == 0
    assert of(conf) == []
    assert not conf.parent.exists()


def test_without_slurm_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "daemons.py").write_text(SCRIPT.read_text().replace("/usr/sbin", "/no").replace("/sbin", ""))
    monkeypatch.setattr(slurm_cluster, "SCRIPT", tmp_path / "daemons.py")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.fail.Exception) as failed:
        started()
    assert "apt-get install --no-install-recommends slurmctld slurmd slurm-client" in str(failed.value)


def test_a_node_that_is_cut_is_lost_while_its_job_goes_on(own_cluster: Cluster, tmp_path: Path) -> None:
    script = "#!/bin/bash\necho up\nwhile :; do date +%s%N > beat; sleep 0.1; done\n"
    job = submit(own_cluster, tmp_path, script, "--no-requeue", "-w", "n2", f"--chdir={tmp_path}")
    running(own_cluster, job, tmp_path)
    own_cluster.cut("n2")
    own_cluster.wait_for(lambda: own_cluster.node_state("n2").startswith("down"), 90)
    assert own_cluster.state(job) == "NODE_FAIL"
    beat = (tmp_path / "beat").read_text()
    own_cluster.wait_for(lambda: (tmp_path / "beat").read_text() not in ("", beat))
    own_cluster.uncut("n2")
    own_cluster.wait_for(lambda: own_cluster.node_state("n2") == "idle", 60)


def test_a_node_without_power_takes_its_jobs_with_it(own_cluster: Cluster, tmp_path: Path) -> None:
    job = submit(own_cluster, tmp_path, STUBBORN, "--no-requeue", "-w", "n2")
    running(own_cluster, job, tmp_path)
    assert of(own_cluster.conf, "n2")
    own_cluster.power_off("n2")
    own_cluster.wait_for(lambda: not of(own_cluster.conf, "n2"), 5)
    own_cluster.start_node("n2")
    own_cluster.wait_for(lambda: own_cluster.node_state("n2") == "idle", 60)
    own_cluster.wait_for(lambda: own_cluster.state(job) in ("FAILED", "NODE_FAIL"))


def test_its_controller_and_a_node_go_and_come_back(own_cluster: Cluster, tmp_path: Path) -> None:
    job = submit(own_cluster, tmp_path, STUBBORN, "-w", "n1")
    running(own_cluster, job, tmp_path)
    own_cluster.kill_node("n1")
    own_cluster.kill_controller()
    own_cluster.start_controller()
    own_cluster.start_node("n1")
    own_cluster.wait_for(lambda: own_cluster.node_state("n1") == "mixed")
    assert own_cluster.state(job) == "RUNNING"


def test_gpus_are_told_apart(cluster: Cluster, tmp_path: Path) -> None:
    script = "#!/bin/bash\necho up on $SLURMD_NODENAME: $CUDA_VISIBLE_DEVICES > out-$SLURM_JOB_ID\nsleep 60\n"
    jobs = [submit(cluster, tmp_path, script, "--gres=gpu:1", f"--chdir={tmp_path}") for _ in range(5)]
    files = [tmp_path / f"out-{job}" for job in jobs[:4]]
    cluster.wait_for(lambda: all(file.exists() and file.read_text() for file in files))
    told = sorted(file.read_text().strip() for file in files)
    assert told == [f"up on {node}: {card}" for node in ("n1", "n2") for card in (0, 1)]
    assert cluster.state(jobs[4]) == "PENDING"
