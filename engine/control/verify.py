"""Are the results the same at every worker count?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from engine.control.differences import Rows, first_difference
from engine.control.reports import VerifiedRun, VerifyReport
from engine.store.records import BatchedRecord, Determinism, EnvironmentRecord
from engine.store.rundir import RunDir, RunDirError
from engine.store.runs import view_run

WEAKNESS: dict[Determinism, int] = {"exact": 0, "seeded": 1, "none": 2}
REGIME_FIELDS = ("regime", "shape", "threads", "cpu", "versions", "digest")
INFRA_RETRIES = 2
"""Times that a verification plays an episode again that the box failed."""


def compare_runs(runs: Sequence[RunDir]) -> VerifyReport:
    """Compare every run with the first. Episodes that the box failed in either are left out, and counted."""
    rows = [Rows(run) for run in runs]
    notes: list[str] = []
    environments = _environments(runs, notes)
    difference = next(
        (found for other in rows[1:] if (found := first_difference(rows[0], other)) is not None), None
    )
    unmeasured = set().union(*(r.infra for r in rows))
    compared = len(set().union(*(r.by_identity for r in rows)) - unmeasured)
    notes += _notes(runs, rows, environments)
    complete = compared > 0 and not unmeasured and all(view_run(run).status == "completed" for run in runs)
    return VerifyReport(
        verdict="different" if difference else "same" if complete else "undecided",
        runs=[_verified(r, view_run(r.run).head.config.worker_count) for r in rows],
        compared=compared,
        determinism=max((e.determinism for e in environments), key=WEAKNESS.__getitem__, default="none"),
        difference=difference,
        notes=notes,
    )


def _verified(rows: Rows, worker_count: int) -> VerifiedRun:
    view = view_run(rows.run)
    return VerifiedRun(
        run_id=rows.run.run_id,
        path=str(rows.run.path),
        worker_count=worker_count,
        status=view.status,
        result_digest=view.head.result_digest,
        episodes=len(rows.by_identity),
        infra=sorted(identity[0] for identity in rows.infra),
    )


def _environments(runs: Sequence[RunDir], notes: list[str]) -> list[EnvironmentRecord]:
    """What each run says of itself; one that says nothing has the weakest label, and a note."""
    found = []
    for run in runs:
        try:
            found.append(run.read_environment())
        except RunDirError as error:
            found.append(EnvironmentRecord(run_id=run.run_id, determinism="none"))
            notes.append(str(error))
    return found


def _notes(
    runs: Sequence[RunDir], rows: Sequence[Rows], environments: Sequence[EnvironmentRecord]
) -> list[str]:
    notes = []
    for run, found in zip(runs, rows, strict=True):
        view = view_run(run)
        if view.status != "completed":
            reason = f": {view.head.error}" if view.head.error else ""
            notes.append(f"run {run.run_id} is {view.status}{reason}")
        if found.infra:
            indices = ", ".join(str(identity[0]) for identity in sorted(found.infra))
            notes.append(f"run {run.run_id}: the box failed episodes {indices}; they were not compared")
    for (first, mine), (second, other) in pairwise(zip(runs, environments, strict=True)):
        notes += _regime_notes(first.run_id, mine.batched, second.run_id, other.batched)
    weak = {record.name: record.determinism for e in environments for record in e.nodesets}
    notes += [
        f"{name} declares determinism {label}" for name, label in sorted(weak.items()) if label != "exact"
    ]
    return notes


def _regime_notes(
    first: str, mine: Sequence[BatchedRecord], second: str, other: Sequence[BatchedRecord]
) -> list[str]:
    notes = []
    others = {(record.nodeset, record.tool): record for record in other}
    for record in mine:
        counterpart = others.get((record.nodeset, record.tool))
        if counterpart is None:
            continue
        parts = [f for f in REGIME_FIELDS if getattr(record, f) != getattr(counterpart, f)]
        if parts:
            told = ", ".join(f"{p} {getattr(record, p)!r} against {getattr(counterpart, p)!r}" for p in parts)
            notes.append(f"{record.tool} of {first} and {second} are not bit-comparable: {told}")
    return notes
