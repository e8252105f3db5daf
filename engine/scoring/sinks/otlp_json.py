"""Spans as OTLP/JSON, with the attributes that platforms know models and tools by.

https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: ids are hexadecimal, 64-bit integers texts.
The names are those of OpenTelemetry's GenAI conventions and of OpenInference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.scoring.sinks.payload import as_json
from engine.scoring.sinks.spans import EPISODE, Span

KINDS = {"root": "CHAIN", "llm": "LLM", "tool": "TOOL", "event": "CHAIN"}
"""Of OpenInference: ``openinference.span.kind``."""

_INTERNAL, _ERROR = 1, 2


def request(spans: Iterable[dict[str, Any]], correlation_id: str) -> dict[str, Any]:
    """The body of ``POST /v1/traces``."""
    resource = {"service.name": "evaltower", EPISODE: correlation_id}
    scope = {"scope": {"name": "evaltower"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": {"attributes": pairs(resource)}, "scopeSpans": [scope]}]}


def encoded(span: Span, trace_id: str, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One span; ``more``: attributes that only one platform knows."""
    found = {
        "traceId": trace_id,
        "spanId": span.id,
        "name": span.name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.end),
        "attributes": pairs({**attributes(span), **(more or {})}),
    }
    if span.parent_id:
        found["parentSpanId"] = span.parent_id
    if span.error:
        found["status"] = {"code": _ERROR, "message": span.error}
    return found


def attributes(span: Span) -> dict[str, Any]:
    """What a span says of itself; nothing that is not known."""
    told: dict[str, Any] = {
        "openinference.span.kind": KINDS[span.kind],
        "input.value": span.input,
        "output.value": span.output,
        **span.attributes,
    }
    if span.kind == "llm":
        told |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": span.model}
        told |= {"llm.model_name": span.model, "gen_ai.usage.cost": span.usd}
        if span.tokens is not None:
            told |= {
                "gen_ai.usage.input_tokens": span.tokens[0],
                "gen_ai.usage.output_tokens": span.tokens[1],
            }
            told |= {"llm.token_count.prompt": span.tokens[0], "llm.token_count.completion": span.tokens[1]}
            told["llm.token_count.total"] = sum(span.tokens)
    if span.kind == "tool":
        told |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": span.name}
        told |= {"tool.name": span.name, "tool.call_id": span.call_id, "tool.error": span.error}
    return {name: value for name, value in told.items() if value is not None and value != ""}


def pairs(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A list of OTLP's KeyValue."""
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
    return {"stringValue": as_json(value)}
