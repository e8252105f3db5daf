"""Runs on the cluster: submitted, seen, and ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.slurm_cluster import Cluster
from tests.scheduling.slurm.towers import claims, tower

pytestmark = pytest.mark.slurm


def test_a_run_is_a_job_by_its_name(root: Path, cluster: Cluster) -> None:
    with tower(root, cluster) as box:
        run = box.start("hang", worker_count=2)
        box.begun(run)
        number = box.number(run)
        job = box.job(number)
        print(job, run.read_job())
        print((run.attempt(1) / "job.sh").read_text())
        box.control.cancel(run.run_id)
        print(box.over(run))
        assert 0
