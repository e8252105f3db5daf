"""Traces as Jaeger's first query API writes them (``/api/traces``, gone from its search since 2026-08)."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.scoring.attributes import truth
from engine.scoring.platform import Answer
from engine.scoring.sources.otlp import spans_of_list, spans_of_resources
from engine.scoring.spans import Span


class _Tag(msgspec.Struct):
    key: str
    value: Any = None


class _Reference(msgspec.Struct, rename={"kind": "refType", "span_id": "spanID"}):
    kind: str = "CHILD_OF"
    span_id: str = ""


class _Span(
    msgspec.Struct,
    rename={
        "span_id": "spanID",
        "operation": "operationName",
        "start_us": "startTime",
        "duration_us": "duration",
        "process_id": "processID",
    },
):
    span_id: str
    start_us: int
    operation: str = ""
    duration_us: int = 0
    tags: list[_Tag] | None = None
    references: list[_Reference] | None = None
    process_id: str = ""


class _Process(msgspec.Struct):
    tags: list[_Tag] | None = None


class _Trace(msgspec.Struct, rename={"trace_id": "traceID"}):
    trace_id: str = ""
    spans: list[_Span] = []
    processes: dict[str, _Process] = {}


class _Answer(msgspec.Struct):
    data: list[_Trace] | None


def legacy_spans(reply: Answer) -> list[Span]:
    """The spans of an answer, also of a server in Jaeger's place that answers in OTLP. CollectError where it
    is none."""
    content = reply.json()
    if isinstance(content, dict) and "resourceSpans" in content:
        return spans_of_resources(content["resourceSpans"], reply.asked)
    if isinstance(content, dict) and "spans" in content:
        return spans_of_list(content["spans"], reply.asked)
    answer = reply.read(_Answer)
    return [_span(trace, span) for trace in answer.data or () for span in trace.spans]


def _span(trace: _Trace, span: _Span) -> Span:
    process = trace.processes.get(span.process_id) or _Process()
    attributes = _tagged(span.tags)
    start_ns = span.start_us * 1000
    above = [link.span_id for link in span.references or () if link.kind == "CHILD_OF"]
    code = str(attributes.get("otel.status_code", "")).upper()
    return Span(
        id=span.span_id,
        trace_id=trace.trace_id,
        parent=above[0] if above else "",
        name=span.operation,
        start_ns=start_ns,
        end_ns=start_ns + span.duration_us * 1000,
        attributes=attributes,
        resource=_tagged(process.tags),
        failed=code == "ERROR" or (code != "OK" and truth(attributes.get("error"))),
        status=str(attributes.get("otel.status_description", "")),
    )


def _tagged(tags: list[_Tag] | None) -> dict[str, Any]:
    return {tag.key: tag.value for tag in tags or ()}
