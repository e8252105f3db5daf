"""A run that has ended, queued once more to be scored: an attempt that plays nothing."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from engine.control.mending import NO_SPEC, job_of, summary_of
from engine.control.reports import ConflictError, ControlError, RefusedError
from engine.control.resuming import refuse_to_touch
from engine.control.scoring import changed_graders, out_of_reach, problems_of
from engine.scoring.reading import read_scoring
from engine.scoring.spec import ScoringError
from engine.store.atomic import write_json
from engine.store.process_identity import identity
from engine.store.records import EndedAs, Job, Spec, Summary, now_iso
from engine.store.rundir import RunDir, RunDirError
from engine.store.runs import read_rows, view_run


def reopen_to_score(
    root: Path, run: RunDir, scoring: Mapping[str, Any] | None, caller_secrets: Collection[str] = ()
) -> Spec:
    """Make the folder that of a run that waits to be scored again. Raises ControlError, with every problem of
    ``scoring``; None is what the run was scored with. ``caller_secrets``: as of a start."""
    refuse_to_touch(run)
    spec = _read_spec(run)
    asked = spec.scoring if scoring is None else dict(scoring)
    if not asked:
        raise ConflictError(f"run {run.run_id} was not scored: say how it is to be (--scoring FILE)")
    problems = problems_of(root, asked) or out_of_reach(root, asked, caller_secrets)
    if problems or (problems := changed_graders(spec.scoring, asked)):
        raise RefusedError(problems)
    if read_scoring(asked).asks_nothing:
        raise ConflictError(f"run {run.run_id}: no grader, judge, trace or export is asked for: name one")
    before = _ended_as(run)
    if not read_rows(run):
        raise ConflictError(f"run {run.run_id} has no finished episode that could be scored")
    spec.scoring = asked
    try:
        job, summary = job_of(run), summary_of(run, spec)
        if scoring is not None:
            write_json(run.spec, spec)
        _write(run, job, summary, before, rescore=True)
    except OSError as error:
        raise ControlError(f"run {run.run_id} cannot be queued to be scored: {error}") from error
    return spec


def reopen_to_complete(run: RunDir) -> Spec | None:
    """The same of a run whose traces are fetched after it, as soon as it has ended; None where it has left
    nothing to be done. Raises OSError and RunDirError."""
    job, spec = run.read_job(), run.read_spec()
    if job.kind == "score" or not run.is_done() or not _is_left_to_backend(spec):
        return None
    summary = run.read_summary()
    waits = any(row.scoring == "pending" for row in read_rows(run))
    if summary.status not in ("completed", "error") or not waits:
        return None
    before = EndedAs(
        kind=job.plays_as, status=summary.status, error=summary.error, finished_at=summary.finished_at
    )
    _write(run, job, summary, before, rescore=False)
    return spec


def _is_left_to_backend(spec: Spec) -> bool:
    if not spec.scoring:
        return False
    try:
        return read_scoring(spec.scoring).trace.collect == "control-plane"
    except ScoringError:
        return False


def _read_spec(run: RunDir) -> Spec:
    try:
        return run.read_spec()
    except RunDirError as error:
        raise ControlError(f"{error}; {NO_SPEC}") from None


def _ended_as(run: RunDir) -> EndedAs:
    view, job = view_run(run), job_of(run)
    if view.status in ("pending", "running"):
        raise ConflictError(f"run {run.run_id} is {view.status}: score it when it has ended")
    head = view.head
    return EndedAs(kind=job.plays_as, status=view.status, error=head.error, finished_at=head.finished_at)


def _write(run: RunDir, job: Job, summary: Summary, before: EndedAs, *, rescore: bool) -> None:
    again = Job(
        run_id=run.run_id,
        state="queued",
        attempt=job.attempt + 1,
        token=secrets.token_hex(16),
        kind="score",
        process=identity(),
        submitted_at=now_iso(),
        ended_as=before,
        rescore=rescore,
    )
    write_json(run.job, again)  # from here on an earlier attempt that wakes up writes nothing more
    write_json(run.summary, msgspec.structs.replace(summary, status="pending", error=None, finished_at=None))
    run.done.unlink(missing_ok=True)
