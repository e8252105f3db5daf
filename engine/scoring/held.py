"""The part of an episode's scoring for which its environment is held: as short as can be."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import msgspec

from engine.scoring.collecting import not_collected, put
from engine.scoring.context import Compute, ComputeError, ComputeUnsupported, Evidence, NotMeasured, case_of
from engine.scoring.evidence import MATERIALISED, SNAPSHOT, correlation_id, read_events
from engine.scoring.safe import grade_all, merge_in_order
from engine.scoring.scored import Files, Means, Told, is_gradable, is_scored, stage, with_scores
from engine.scoring.sources.base import CollectError
from engine.scoring.sources.file import RUN_ID, FileSource
from engine.scoring.sources.file import read_events as read_events_of
from engine.scoring.spans import Event
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
    if means.spec.trace.kind == "file":
        told(row, "collect")
        row = await _trace_file(means, row, folder, compute, files)
    if snapshot is not None and (means.observers or means.judges or means.waits_for_backend):
        told(row, "materialise")
        await _materialise(row, folder, compute, files, snapshot)
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
    return with_scores(row, merge_in_order(graded), means.spec.verdict)


async def _materialise(
    row: EpisodeRow, folder: Path, compute: Compute, files: Files, snapshot: dict[str, Any]
) -> None:
    """Fetch the picture that the snapshot only names, while it can be had; without it grading goes on."""
    reference = snapshot.get("screenshotRef")
    if not isinstance(reference, str) or not reference or snapshot.get("screenshot"):
        return
    with stage(row, "materialise") as begun:
        try:
            await files.write_bytes(folder / MATERIALISED, await compute.read_file(reference))
        except NotMeasured as error:
            begun.error, begun.error_class = str(error), "infra"
            log.warning("%s: the picture of its snapshot cannot be had: %s", folder.name, error)


async def _trace_file(
    means: Means, row: EpisodeRow, folder: Path, compute: Compute, files: Files
) -> EpisodeRow:
    """Take over the events that the agent left in a file: of its environment, else of this machine."""
    key = correlation_id(means.run_id, folder)
    path = means.spec.trace.endpoint.replace(RUN_ID, key)
    with stage(row, "collect") as begun:
        try:
            await put(folder, await _events_of(path, compute, key), files)
        except (NotMeasured, CollectError) as error:
            begun.error, begun.error_class = str(error), "infra"
    if begun.error is None:
        return row
    return await not_collected(means, row, folder, files, begun.error, retryable=False)


async def _events_of(path: str, compute: Compute, key: str) -> list[Event]:
    try:
        return read_events_of(await compute.read_file(path))
    except ComputeUnsupported:
        return await FileSource(path).fetch(key)
