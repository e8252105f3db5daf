"""OTLP/JSON for the doubles."""

from __future__ import annotations

from typing import Any

BEGAN_NS = 1_779_114_652_000_000_000


def value(of: Any) -> dict[str, Any]:
    if isinstance(of, bool):
        return {"boolValue": of}
    if isinstance(of, int):
        return {"intValue": str(of)}
    if isinstance(of, float):
        return {"doubleValue": of}
    if isinstance(of, dict):
        return {"kvlistValue": {"values": attributes(of)}}
    if isinstance(of, list):
        return {"arrayValue": {"values": [value(item) for item in of]}}
    return {"stringValue": of}


def attributes(of: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(item)} for key, item in of.items()]


def span(
    name: str,
    start_ms: float = 0,
    end_ms: float = 100,
    *,
    id: str = "",
    trace: str = "0af7651916cd43dd8448eb211c80319c",
    parent: str = "",
    status: dict[str, Any] | None = None,
    **named: Any,
) -> dict[str, Any]:
    """Underscores of ``named`` are dots, two are one underscore."""
    own = {key.replace("__", "\0").replace("_", ".").replace("\0", "_"): item for key, item in named.items()}
    return {
        "traceId": trace,
        "spanId": id or f"{abs(hash((name, start_ms, trace))):016x}"[:16],
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "startTimeUnixNano": str(BEGAN_NS + round(start_ms * 1e6)),
        "endTimeUnixNano": str(BEGAN_NS + round(end_ms * 1e6)),
        "attributes": attributes(own),
        **({"status": status} if status else {}),
    }


def resource_spans(spans: list[dict[str, Any]], **resource: Any) -> list[dict[str, Any]]:
    own = {
        key.replace("__", "\0").replace("_", ".").replace("\0", "_"): item for key, item in resource.items()
    }
    return [{"resource": {"attributes": attributes(own)}, "scopeSpans": [{"scope": {}, "spans": spans}]}]


def snake(of: Any) -> Any:
    """The same, as MLflow names it."""
    names = {
        "traceId": "trace_id",
        "spanId": "span_id",
        "parentSpanId": "parent_span_id",
        "startTimeUnixNano": "start_time_unix_nano",
        "endTimeUnixNano": "end_time_unix_nano",
        "stringValue": "string_value",
        "boolValue": "bool_value",
        "intValue": "int_value",
        "doubleValue": "double_value",
        "kvlistValue": "kvlist_value",
        "arrayValue": "array_value",
    }
    if isinstance(of, dict):
        return {names.get(key, key): snake(item) for key, item in of.items()}
    return [snake(item) for item in of] if isinstance(of, list) else of


AGENT_RUN = [
    span("invoke_agent", 0, 1000, id="a0", gen__ai_operation_name="invoke_agent", output_value="42"),
    span(
        "chat",
        100,
        400,
        id="c1",
        parent="a0",
        gen__ai_request_model="m-1",
        gen__ai_usage_input__tokens=30,
        gen__ai_usage_output__tokens=5,
        gen__ai_usage_cost=0.25,
    ),
    span(
        "execute_tool",
        400,
        600,
        id="t1",
        parent="a0",
        gen__ai_tool_name="grep",
        tool_args='{"pattern": "x"}',
        tool_output="no such file",
        status={"code": 2, "message": "exit 2"},
    ),
]
"""One call of a model, one of a tool that failed, and the answer."""
