"""The part of an episode's scoring for which its environment is held: as short as can be."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import msgspec

from engine.scoring.collecting import not_collected, put
from engine.scoring.context import Compute, ComputeError, ComputeUnsupported, Evidence, NotMeasured, case_of
from engine.scoring.errors import CollectError
from engine.scoring.evidence import MATERIALISED, SNAPSHOT, read_events
from engine.scoring.safe import grade_all, merge_in_order
from engine.scoring.scored import Files, Means, Told, is_gradable, is_scored, stage, with_scores
from engine.scoring.sources.file import read_events as read_events_of
from engine.scoring.sources.file import read_file
from engine.store.records import EpisodeRow
from engine.store.scores import Stage
from engine.store.strict_json import encode_indented

log = logging.getLogger(__name__)


async def score_held(
    means: Means, row: EpisodeRow, folder: Path, compute: Compute, files: Files, told: Told
) -> EpisodeRow:
    """Put the row on disk; then, where there is something to grade, do all that takes the environment.

    The row that is given back is not on disk yet. Raises OSError and FencedError, where a file cannot be
    written.
    """
    if not is_scored(row):
        return row
    row = msgspec.structs.replace(row, scoring="pending", stages=[_execution(row)])
    told(row, "snapshot")
    await files.record(row, folder)
    if not is_gradable(row):
        return row
    snapshot = await _snapshot(row, folder, compute, files)
    if means.holders:
        told(row, "grade")
        row = await _graded(means, row, folder, compute, snapshot)
    if _reference(means, snapshot) or means.spec.trace.kind == "file":
        told(row, "materialise")
        row = await _materialise(means, row, folder, compute, files, _reference(means, snapshot))
    return row


def _execution(row: EpisodeRow) -> Stage:
    return Stage(name="execute", started_at=row.started_at, finished_at=row.finished_at)


async def _snapshot(row: EpisodeRow, folder: Path, compute: Compute, files: Files) -> dict[str, Any] | None:
    with stage(row, "snapshot") as begun:
        try:
            snapshot = await compute.snapshot()
            written = encode_indented(snapshot)
        except ComputeUnsupported:
            row.stages.remove(begun)
            return None
        except (ComputeError, TypeError, ValueError, RecursionError) as error:
            begun.error, begun.error_class = f"there is no snapshot: {error}", "infra"
            log.warning("%s: %s", folder.name, begun.error)
            return None
        if snapshot is not None:
            await files.write_bytes(folder / SNAPSHOT, written)
        return snapshot


async def _graded(
    means: Means, row: EpisodeRow, folder: Path, compute: Compute, snapshot: dict[str, Any] | None
) -> EpisodeRow:
    events = await asyncio.to_thread(read_events, folder)
    evidence = Evidence(case_of(row, snapshot), events, snapshot, folder)
    with stage(row, "grade"):
        graded = await grade_all(means.holders, evidence, compute, means.spec.deadline_sec)
    return with_scores(means, row, merge_in_order(graded))


def _reference(means: Means, snapshot: dict[str, Any] | None) -> str:
    """What the snapshot only names of a picture that is looked at later; empty where there is none."""
    if snapshot is None or snapshot.get("screenshot"):
        return ""
    reference = snapshot.get("screenshotRef")
    looked_at = means.observers or means.judges or means.waits_for_backend
    return reference if looked_at and isinstance(reference, str) else ""


async def _materialise(
    means: Means, row: EpisodeRow, folder: Path, compute: Compute, files: Files, picture: str
) -> EpisodeRow:
    """Fetch what is looked at later and can be had only now: a picture, and the trace that the agent left in
    a file. Without the picture grading goes on."""
    lost = ""
    with stage(row, "materialise") as begun:
        if picture:
            begun.error = await _take_picture(folder, compute, files, picture)
        if means.spec.trace.kind == "file":
            lost = await _take_trace(means, folder, compute, files)
            begun.error = lost or begun.error
        begun.error_class = "infra" if begun.error else None
    return await not_collected(means, row, folder, files, lost, retryable=False) if lost else row


async def _take_picture(folder: Path, compute: Compute, files: Files, reference: str) -> str | None:
    """Why it cannot be had, where it cannot."""
    try:
        await files.write_bytes(folder / MATERIALISED, await compute.read_file(reference))
    except NotMeasured as error:
        log.warning("%s: the picture of its snapshot cannot be had: %s", folder.name, error)
        return str(error)
    return None


async def _take_trace(means: Means, folder: Path, compute: Compute, files: Files) -> str:
    """From the environment, else from the episode's folder among the run's files. Why it cannot be had, where
    it cannot."""
    path = means.spec.trace.endpoint
    try:
        try:
            data = await compute.read_file(path)
        except ComputeUnsupported:
            data = await asyncio.to_thread(read_file, folder, path)
    except (NotMeasured, CollectError) as error:
        return str(error) or "it cannot be read"
    await put(folder, read_events_of(data), files)
    return ""
