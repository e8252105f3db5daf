"""A backend whose runs go to the two nodes, and what there is to see of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psutil

from engine.control.queue_reports import QueuedRun, RunningRun
from engine.control.reports import RunReport, StartRequest
from engine.store.attempts import MARK, Attempt
from engine.store.cluster_note import ClusterNote
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir, runs_folder
from engine.store.runs import read_rows
from engine.store.settings import Admission
from engine.store.slurm_settings import SlurmSettings
from tests.fakes.family_run import GATE
from tests.fakes.live_backend import LiveControl, live
from tests.fakes.slurm_cluster import Cluster

T = TypeVar("T")

GRACE_SEC = 3.0


class Tower:
    """A live backend of a root, on a cluster."""

    def __init__(self, control: LiveControl, cluster: Cluster) -> None:
        self.control = control
        self.cluster = cluster
        self.root = control.root

    def start(self, fake: str = "finish", **more: Any) -> RunDir:
        """A run whose process ends as ``fake`` says, on the cluster, without a card."""
        return self.submit(graph_name="toy", selectors={"fake": fake}, **more)

    def submit(self, **asked: Any) -> RunDir:
        fields = {"marginal_vram_mb": 0.0, "on": "slurm", **asked}
        return RunDir(runs_folder(self.root) / self.control.start(StartRequest(**fields)))

    def report(self, run: RunDir) -> RunReport:
        return self.control.show(run.run_id)

    def wait_for(self, so: Callable[[], T], within_sec: float = 60.0) -> T:
        return self.cluster.wait_for(so, within_sec)

    def over(self, run: RunDir, within_sec: float = 60.0) -> RunReport:
        """How a run ended, once nothing of it is left to the backend."""
        self.wait_for(lambda: not self.control.live.is_ours(run.run_id), within_sec)
        report = self.report(run)
        assert report.is_over, report.status
        return report

    def begun(self, run: RunDir, rows: int = 1, within_sec: float = 60.0) -> None:
        """It has written so many rows."""
        self.wait_for(lambda: len(rows_of(run)) >= rows, within_sec)

    def why(self, run: RunDir) -> str:
        """Why it waits, as the queue tells it; "" where it does not."""
        waiting = self.waiting(run)
        return f"{waiting.code}: {waiting.reason}" if waiting else ""

    def waits(self, run: RunDir, told: str, within_sec: float = 60.0) -> None:
        """Until it waits for a reason that begins so."""
        self.wait_for(lambda: self.why(run).startswith(told), within_sec)

    def waiting(self, run: RunDir) -> QueuedRun | None:
        return next((one for one in self.control.queue().queued if one.run_id == run.run_id), None)

    def running(self, run: RunDir) -> RunningRun | None:
        return next((one for one in self.control.queue().running if one.run_id == run.run_id), None)

    def note(self, run: RunDir) -> ClusterNote:
        """Where it is there, once it was given away."""

        def note() -> ClusterNote | None:
            return run.read_job().cluster

        found = self.wait_for(note)
        assert found is not None
        return found

    def number(self, run: RunDir) -> str:
        """The number of its job, once it has one."""
        return self.wait_for(lambda: self.note(run).job_id)

    def job(self, number: str) -> dict[str, str]:
        """``scontrol show job``."""
        lines = self.cluster.run("scontrol", "show", "job", number).splitlines()
        words = [word.partition("=") for line in lines for word in line.split()]
        return {key: value for key, sign, value in words if sign}


@contextmanager
def tower(
    root: Path,
    cluster: Cluster,
    *,
    leave: bool = False,
    grace_sec: float = GRACE_SEC,
    late_sec: float = GRACE_SEC,
    **slurm: Any,
) -> Iterator[Tower]:
    """``late_sec``: for how long files are waited for after Slurm's word. ``slurm``: more of ``[slurm]``."""
    settings = SlurmSettings(**{"poll_sec": 0.5, "grace_sec": late_sec, **slurm})
    admission = Admission(grace=grace_sec, disk_low=0.0)
    with live(root, admission=admission, slurm=settings, leave=leave) as control:
        yield Tower(control, cluster)


def let_end(run: RunDir) -> None:
    """A run that does as ``gate``."""
    (run.path / GATE).touch()


def rows_of(run: RunDir) -> list[EpisodeRow]:
    return read_rows(run)


def claims(run: RunDir) -> int:
    """How many attempts at it, or at its shards, had a process."""
    folders = run.path.glob("**/attempts/*")
    shims = [Attempt(folder).read_shim() for folder in folders]
    return sum(shim is not None and not shim.void for shim in shims)


def processes_of(run: RunDir) -> list[psutil.Process]:
    """What lives of it, by the mark that it hands down; a run of another root may have the same."""
    found = []
    for process in psutil.process_iter():
        try:
            mark, folder = process.environ().get(MARK, ""), process.cwd()
        except psutil.Error:
            continue
        if (
            mark.startswith(f"{run.run_id}/")
            and folder == str(run.root)
            and process.status() != psutil.STATUS_ZOMBIE
        ):
            found.append(process)
    return found
