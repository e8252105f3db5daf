"""Are the results the same at every worker count?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

import msgspec

from engine.control.differences import Rows, first_difference
from engine.control.reports import StartRequest, VerifiedRun, VerifyReport
from engine.control.version_notes import version_notes
from engine.store.environment_record import EnvironmentRecord
from engine.store.records import Determinism
from engine.store.rundir import RunDir, RunDirError

WEAKNESS: dict[Determinism, int] = {"exact": 0, "seeded": 1, "none": 2}
REGIME_FIELDS = ("regime", "shape", "threads", "cpu", "versions", "digest")
INFRA_RETRIES = 2
"""Times that a verification plays an episode again, at least, that the box failed."""


class _Starter(Protocol):
    def start(self, request: StartRequest) -> str: ...

    def compare_results(self, runs: Sequence[str]) -> VerifyReport: ...


def run_and_compare(
    control: _Starter, request: StartRequest, worker_counts: Sequence[int], watch: Callable[[str], None]
) -> VerifyReport:
    """A run at each worker count, one after the other. ``watch(run_id)`` returns when that one is over.

    Scores are no part of what is compared: the file beside the graph is left out.
    """
    from engine.control.scoring import NOT_SCORED

    scoring = request.scoring or NOT_SCORED
    retries = max(request.retries, INFRA_RETRIES)
    runs = []
    for count in worker_counts:
        asked = msgspec.structs.replace(request, worker_count=count, retries=retries, scoring=scoring)
        runs.append(control.start(asked))
        watch(runs[-1])
    return control.compare_results(runs)


def compare_runs(runs: Sequence[RunDir]) -> VerifyReport:
    """Compare every run with the first, by the episodes that each of them measured."""
    rows = [Rows(run) for run in runs]
    notes: list[str] = []
    environments = _environments(runs, notes)
    difference = next(
        (found for other in rows[1:] if (found := first_difference(rows[0], other)) is not None), None
    )
    compared = len(set.intersection(*(r.measured for r in rows)))
    everything = all(r.view.status == "completed" and len(r.by_identity) == compared for r in rows)
    return VerifyReport(
        verdict="different" if difference else "same" if everything and compared else "undecided",
        runs=[_verified(r) for r in rows],
        compared=compared,
        determinism=max((e.determinism for e in environments), key=WEAKNESS.__getitem__, default="none"),
        difference=difference,
        notes=notes + _list_notes(rows) + _notes(rows, environments),
    )


def _verified(rows: Rows) -> VerifiedRun:
    return VerifiedRun(
        run_id=rows.run.run_id,
        path=str(rows.run.path),
        worker_count=rows.view.head.config.worker_count,
        status=rows.view.status,
        result_digest=rows.view.head.result_digest,
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


def _list_notes(rows: Sequence[Rows]) -> list[str]:
    """Episodes that a run has and the first, which was asked for others, has not; or the other way round."""
    first, notes = rows[0], []
    for other in rows[1:]:
        if first.same_list(other) or not (apart := first.by_identity.keys() ^ other.by_identity.keys()):
            continue
        lists = " and ".join(f"{len(r.by_identity)} ({r.run.run_id})" for r in (first, other))
        notes.append(
            f"these runs were asked for different episodes, {lists}: {len(apart)} are in one alone, and are"
            " not compared"
        )
    return notes


def _notes(rows: Sequence[Rows], environments: Sequence[EnvironmentRecord]) -> list[str]:
    notes = []
    for found in rows:
        if found.view.status != "completed":
            reason = f": {found.view.head.error}" if found.view.head.error else ""
            notes.append(f"run {found.run.run_id} is {found.view.status}{reason}")
        if found.infra:
            indices = ", ".join(str(identity[0]) for identity in sorted(found.infra))
            notes.append(f"run {found.run.run_id}: the box failed episodes {indices}; they were not compared")
    for mine, other in pairwise(environments):
        notes += _regime_notes(mine, other)
    notes += version_notes(environments)
    weak = {record.name: record.determinism for e in environments for record in e.nodesets}
    notes += [
        f"{name} declares determinism {label}" for name, label in sorted(weak.items()) if label != "exact"
    ]
    return notes


def _regime_notes(mine: EnvironmentRecord, other: EnvironmentRecord) -> list[str]:
    notes = []
    others = {(record.nodeset, record.tool): record for record in other.batched}
    for record in mine.batched:
        counterpart = others.get((record.nodeset, record.tool))
        if counterpart is None:
            continue
        parts = [f for f in REGIME_FIELDS if getattr(record, f) != getattr(counterpart, f)]
        if parts:
            told = ", ".join(f"{p} {getattr(record, p)!r} against {getattr(counterpart, p)!r}" for p in parts)
            notes.append(f"{record.tool} of {mine.run_id} and {other.run_id} are not bit-comparable: {told}")
    return notes
