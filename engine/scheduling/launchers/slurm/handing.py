"""An attempt as it is given to the cluster: its folder, its script, and its successor where it was lost."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.scheduling.jobs import QueuedJob
from engine.scheduling.launchers import closing
from engine.scheduling.launchers.slurm.clerk import Clerk
from engine.scheduling.launchers.slurm.script import SCRIPT, JobScript
from engine.scheduling.launchers.slurm.units import Unit
from engine.scheduling.starts import ClusterAsk, Start
from engine.store.atomic import write_bytes, write_json
from engine.store.attempts import Attempt
from engine.store.cluster_note import ClusterNote
from engine.store.pending import pending_summary
from engine.store.records import Job, now_iso
from engine.store.rundir import RunDir
from engine.store.settings import Settings

log = logging.getLogger(__name__)

_DEPENDS = re.compile(r"^#SBATCH --dependency=.*\n", re.MULTILINE)


class Handing:
    """Gives attempts of a root to ``clerk``. Its methods raise OSError."""

    def __init__(self, root: Path, settings: Settings, clerk: Clerk) -> None:
        self._root = root
        self._settings = settings.slurm
        self._grace_sec = settings.admission.grace
        self._clerk = clerk

    def hand_over(self, unit: Unit, ask: ClusterAsk, after: Sequence[str]) -> None:
        """``after``: numbers of jobs that must have begun."""
        job, number = unit.run.read_job(), unit.run.shard
        shard = ["--shard", f"{number}/{ask.nodes}"] if number is not None else []
        script = JobScript(
            attempt=unit.attempt,
            name=job.run_id if number is None else f"{job.run_id}.{number}",
            comment=unit.comment,
            mark=closing.mark_of(job),
            partition=ask.partition,
            ask=ask.run,
            root=self._root,
            command=["-m", closing.RUN_PROCESS, "--run-dir", str(unit.run.path), *shard],
            grace_sec=self._grace_sec,
            after=after,
        )
        self._submit(unit, script.text(self._settings))

    def again(self, unit: Unit, job: Job) -> Unit:
        """A new attempt in place of one that the cluster lost before it had begun; ``job`` comes
        to be of that. Its script is the same, but for the jobs that it waited for: the run waits itself."""
        script = (unit.attempt.path / SCRIPT).read_text(encoding="utf-8")
        before = closing.mark_of(job), unit.comment, str(unit.attempt.path.absolute())
        closing.renew(job)
        if job.cluster is not None:
            job.cluster = ClusterNote(on=job.cluster.on, nodes=job.cluster.nodes)
        write_json(unit.run.job, job)
        new = Unit(unit.run, job, self._clerk, self._settings.grace_sec)
        after = closing.mark_of(job), new.comment, str(new.attempt.path.absolute())
        for was, now in zip(before, after, strict=True):
            script = script.replace(was, now)
        self._clerk.forget(unit.comment)
        self._submit(new, _DEPENDS.sub("", script))
        return new

    def go_on(self, unit: Unit) -> bool:
        """Hand over what an earlier backend may not have; False where it had not come to write the script."""
        note, script = unit.run.read_job().cluster, unit.attempt.path / SCRIPT
        if note is None or note.job_id or unit.is_begun():
            return True
        if not script.exists():
            return False
        self._clerk.submit(unit.comment, script)
        return True

    def _submit(self, unit: Unit, script: str) -> None:
        unit.attempt.lay_out()
        path = unit.attempt.path / SCRIPT
        write_bytes(path, script.encode())
        self._clerk.submit(unit.comment, path)


def shards_of(run: RunDir, nodes: int) -> list[RunDir]:
    """Over so many nodes: the run itself on one."""
    return [run] if nodes == 1 else [RunDir(run.path, shard) for shard in range(nodes)]


def begin(run: RunDir, record: Job, job: QueuedJob, start: Start) -> None:
    """Make the record that of an attempt that nobody has begun, and nobody else will."""
    assert start.ask is not None
    attempt = Attempt.of(run.own, record.attempt)
    if record.state != "queued":
        attempt.void()
    if attempt.read_shim() is not None:
        closing.renew(record)
    record.state, record.process, record.reason = "started", None, ""
    record.started_at, record.finished_at = now_iso(), None
    record.may_retry = job.failures < job.retries
    record.gpus = []
    record.admit_charges = {"ram": start.ask.run.mem_mb * start.ask.nodes}
    record.admit_basis = {name: basis for name, basis in start.basis.items() if basis is not None}
    record.cluster = ClusterNote(on=start.ask.on, nodes=start.ask.nodes)


def begin_shard(shard: RunDir, record: Job) -> None:
    """Have a shard ready for its next attempt, as its run's ``record`` says, unless nothing is left to do."""
    shard.own.mkdir(parents=True, exist_ok=True)
    if shard.is_done() and not record.rerun_errors and closing.as_written(shard).outcome == "completed":
        return
    latest = Attempt.latest(shard.own)
    number = latest.number + 1 if latest else 1
    job = msgspec.structs.replace(record, attempt=number, token=secrets.token_hex(16))
    write_json(shard.job, job)
    shard.progress.unlink(missing_ok=True)
    shard.done.unlink(missing_ok=True)
    if not shard.summary.exists():
        write_json(shard.summary, pending_summary(shard.read_spec()))
