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
    """The row once its trace is in the episode's folder, or once it is clear that it cannot be had."""
    key = correlation_id(means.run_id, folder)
    with stage(row, "collect") as begun:
        try:
            events = await _fetched(means, key)
        except CollectError as error:
            begun.error, begun.error_class = str(error), "infra"
            begun.retryable = means.spec.trace.on_pull_error == "defer"
    if begun.error is not None:
        return await not_collected(means, row, folder, files, begun.error)
    if not events and means.spec.trace.collect == "control-plane":
        events = [{"kind": "error", "message": f"{means.spec.trace.kind} has no trace of {key}"}]
    elif events and failed_to_collect(row):
        row = msgspec.structs.replace(row, failure=None)
    await put(folder, events, files)
    await files.record(row, folder)
    return row


async def not_collected(
    means: Means, row: EpisodeRow, folder: Path, files: Files, message: str, *, retryable: bool = True
) -> EpisodeRow:
    """What a trace that cannot be had makes of the row: a failure to be mended, or an event that says so."""
    log.warning("%s: its trace cannot be collected: %s", folder.name, message)
    if means.spec.trace.on_pull_error == "degrade":
        await put(folder, [{"kind": "error", "message": message}], files)
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


def failed_to_collect(row: EpisodeRow) -> bool:
    """Whether what needs the trace waits for a later try."""
    return row.failure is not None and row.failure.get("stage") == "collect"
