"""Where on the cluster a run is, in its job.json, and in that of each of its shards."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.scheduling.launchers.slurm.clerk import Clerk
from engine.scheduling.launchers.slurm.units import Unit
from engine.scheduling.launchers.slurm.words import WAITS, gpus_of
from engine.store.atomic import write_json
from engine.store.cluster_note import ClusterNote
from engine.store.records import Job
from engine.store.rundir import RunDir

_JOINED = ("job_id", "state", "reason", "node", "why")


def write_notes(run: RunDir, record: Job, units: Sequence[Unit], clerk: Clerk) -> None:
    """Write what has changed since the last time; not durable, as the cluster tells it again. OSError."""
    for unit in units:
        job = record if unit.run.shard is None else unit.run.read_job()
        _write(unit.run, job, _note_of(unit, job, clerk))
    if record.cluster is not None and record.cluster.nodes > 1:
        notes = [shard.read_job().cluster for shard in run.shards()]
        _write(run, record, _joined(record.cluster, [note for note in notes if note is not None]))


def _write(run: RunDir, job: Job, note: ClusterNote) -> None:
    if note != job.cluster:
        job.cluster = note
        write_json(run.job, job, durable=False)


def _note_of(unit: Unit, job: Job, clerk: Clerk) -> ClusterNote:
    on, nodes = (job.cluster.on, job.cluster.nodes) if job.cluster else ("slurm", 1)
    seen = clerk.look(unit.comment)
    note = ClusterNote(on=on, nodes=nodes, job_id=clerk.number(unit.comment), why=unit.told)
    if seen is None:
        return note
    return msgspec.structs.replace(
        note, state=seen.state, reason=seen.reason, node=seen.nodes, gpus=gpus_of(seen.gres)
    )


def _joined(before: ClusterNote, notes: Sequence[ClusterNote]) -> ClusterNote:
    texts = {
        name: ",".join(dict.fromkeys(getattr(note, name) for note in notes if getattr(note, name)))
        for name in _JOINED
    }
    waiting = sum(note.state in WAITS for note in notes)
    if waiting:
        texts["why"] = f"{waiting} of {len(notes)} shards wait: {texts['why']}"
    gpus = sum(note.gpus for note in notes)
    return ClusterNote(on=before.on, nodes=before.nodes, gpus=gpus, **texts)
