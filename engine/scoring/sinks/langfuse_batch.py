"""Langfuse's ingestion API, of servers before OTLP: events in batches, each taken or refused by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.scoring.platform import Platform
from engine.scoring.sinks.base import ExportItem
from engine.scoring.sinks.ids import Ids
from engine.scoring.sinks.payload import chunks
from engine.scoring.sinks.spans import Span, iso
from engine.store.records import now_iso

INGESTION = "/api/public/ingestion"
CHUNK_BYTES = 3_000_000


class Batch:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def send(self, events: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """Event id → why it was refused, of those that were. ExportError where a whole batch was."""
        found: dict[str, str] = {}
        for chunk in chunks(events, CHUNK_BYTES):
            answer = await self._platform.post(INGESTION, {"batch": chunk})
            for entry in answer.entries("errors"):
                told = entry.get("message") or entry.get("error") or f"status {entry.get('status')}"
                found[str(entry.get("id"))] = str(told)
        return found


def trace_event(item: ExportItem, root: Span, trace_id: str, ids: Ids) -> dict[str, Any]:
    body = {
        "id": trace_id,
        "name": item.graph_name,
        "timestamp": iso(root.start),
        "sessionId": item.run_id,
        "input": root.input,
        "output": root.output,
        "metadata": root.attributes,
    }
    return _event("trace-create", body, ids)


def observation_event(span: Span, trace_id: str, ids: Ids) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": span.id,
        "traceId": trace_id,
        "name": span.name,
        "startTime": iso(span.start),
        "endTime": iso(span.end),
        "input": span.input,
        "output": span.output,
        "metadata": span.attributes,
        "level": "ERROR" if span.error else "DEFAULT",
        "statusMessage": span.error,
    }
    if span.kind != "llm":
        return _event("span-create", body, ids)
    body["model"] = span.model
    if span.tokens is not None:
        body["usageDetails"] = {"input": span.tokens[0], "output": span.tokens[1]}
    if span.usd is not None:
        body["costDetails"] = {"total": span.usd}
    return _event("generation-create", body, ids)


def score_event(body: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
    return _event("score-create", body, ids)


def _event(kind: str, body: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
    return {"id": ids.uuid(f"event#{body['id']}"), "type": kind, "timestamp": now_iso(), "body": body}
