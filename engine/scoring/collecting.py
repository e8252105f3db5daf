"""An episode's trace: fetched from the platform that its harness sent it to, or missed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.scoring.collect import collect
from engine.scoring.errors import CollectError
from engine.scoring.evidence import TRACE, correlation_id, with_collected
from engine.scoring.scored import Files, Means, stage
from engine.scoring.spans import Event
from engine.store.records import EpisodeRow

log = logging.getLogger(__name__)

COLLECT_FAILED = "TRACE_COLLECT_FAILED"


async def collected(means: Means, row: EpisodeRow, folder: Path, files: Files) -> EpisodeRow:
    """The row once its trace is in the episode's folder, or once it is clear that it cannot be had.

    An empty trace is taken for what there is, and told in the row: a later one replaces it.
    """
    trace, key = means.spec.trace, correlation_id(means.run_id, folder)
    nothing = f"{trace.kind} has no trace of {key}"
    events: list[Event] = []
    fault = ""
    with stage(row, "collect") as begun:
        try:
            events = await _fetched(means, key)
        except CollectError as error:
            fault = str(error)
            begun.error_class, begun.retryable = "infra", trace.on_pull_error == "defer"
        begun.error = fault or (None if events else nothing)
    if fault:
        return await not_collected(means, row, folder, files, fault)
    if failed_to_collect(row) and not events and trace.on_pull_error == "degrade":
        return await not_collected(means, row, folder, files, nothing)
    if not events and trace.collect == "control-plane":
        events = [_told(nothing)]
    elif events:
        row = _healed(row)
    await put(folder, events, files)
    await files.record(row, folder)
    return row


async def not_collected(
    means: Means, row: EpisodeRow, folder: Path, files: Files, message: str, *, retryable: bool = True
) -> EpisodeRow:
    """What a trace that cannot be had makes of the row: a failure to be mended; or, where grading is to go
    on, an event."""
    log.warning("%s: its trace cannot be collected: %s", folder.name, message)
    if means.spec.trace.on_pull_error == "degrade":
        await put(folder, [_told(message)], files)
        row = _healed(row)
        if not does_without_trace(row):
            with stage(row, "collect") as begun:
                begun.error, begun.error_class = message, "infra"
        return row
    failure = {
        "stage": "collect",
        "class": "infra",
        "code": COLLECT_FAILED,
        "retryable": retryable,
        "message": message,
    }
    return msgspec.structs.replace(
        row, failure=failure, trace_ref=trace_reference(means, correlation_id(means.run_id, folder))
    )


def _told(message: str) -> Event:
    return {"kind": "error", "message": message}


def _healed(row: EpisodeRow) -> EpisodeRow:
    """The row without an earlier failure to collect its trace."""
    return msgspec.structs.replace(row, failure=None) if failed_to_collect(row) else row


async def put(folder: Path, events: Sequence[Event], files: Files) -> None:
    """Write what was collected of an episode's trace behind the run's own part of it."""
    await files.write_bytes(folder / TRACE, await asyncio.to_thread(with_collected, folder, events))


async def _fetched(means: Means, key: str) -> list[Event]:
    """Raises CollectError, whatever went wrong."""
    if means.source is None:
        raise CollectError(means.no_source or "there is nothing to fetch the trace from")
    try:
        return await collect(means.source, key)
    except CollectError:
        raise
    except Exception as error:  # platforms answer what they like, and the results stand
        log.exception("%s: its trace cannot be read", key)
        raise CollectError(f"its trace cannot be read: {type(error).__name__}: {error}") from None


def trace_reference(means: Means, key: str) -> dict[str, Any]:
    """Where the episode's trace is to be had; a secret by its name alone."""
    trace = means.spec.trace
    asked = {name: getattr(trace, name) for name in ("experiment", "project", "service", "auth_secret")}
    return {
        "kind": trace.kind,
        "endpoint": trace.endpoint,
        "run_id": key,
        "correlate": trace.correlate,
        **{name: value for name, value in asked.items() if value},
    }


def does_without_trace(row: EpisodeRow) -> bool:
    """Whether it was graded although its trace could not be had."""
    failed = any(stage.name == "collect" and stage.error is not None for stage in row.stages)
    return failed and not failed_to_collect(row)


def failed_to_collect(row: EpisodeRow) -> bool:
    """Whether what needs the trace waits for a later try."""
    return row.failure is not None and row.failure.get("stage") == "collect"
