"""An episode's trace events as spans, which every platform has in some form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from engine.scoring.sinks.base import ExportItem
from engine.scoring.sinks.ids import Ids
from engine.scoring.sinks.payload import LONGEST_TEXT, as_json, clip
from engine.scoring.usage import ENVELOPE

EPISODE = "evaltower.episode"
"""Of a trace that we made. Not ``evaltower.run_id``, by which an episode's own trace is found: a later pull
would take what was exported for what happened."""

SpanKind = Literal["root", "llm", "tool", "event"]


@dataclass(slots=True, kw_only=True)
class Span:
    """``start`` and ``end``: nanoseconds since 1970. Of an ``llm`` span ``tokens`` and ``usd`` are None where
    the model's server did not say. ``error``: empty where it went well."""

    kind: SpanKind
    name: str
    id: str
    parent_id: str
    start: int
    end: int
    input: str = ""
    output: str = ""
    model: str = ""
    tokens: tuple[int, int] | None = None
    usd: float | None = None
    call_id: str = ""
    error: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)


def spans(item: ExportItem, ids: Ids) -> list[Span]:
    """The episode, then what happened in it, in order. A tool's result ends the span of its call."""
    row = item.row
    began = _nanoseconds(row.started_at) or _now()
    ended = max(_nanoseconds(row.finished_at) or 0, began + int(row.elapsed_sec * 1e9))
    root = Span(
        kind="root",
        name=item.graph_name,
        id=ids.span(0),
        parent_id="",
        start=began,
        end=ended,
        input=clip(row.instruction, LONGEST_TEXT),
        output=_last_answer(item.events),
        error=row.error or "",
        attributes=_told(item),
    )
    found = [root]
    calls: dict[str, Span] = {}
    for number, event in enumerate(item.events, 1):
        at = _time(event, began)
        if event.get("kind") == "tool_result" and (call := calls.pop(str(event.get("id")), None)):
            _finish(call, event, at)
            continue
        span = _span(event, ids.span(number), root.id, at)
        if span.kind == "tool" and span.call_id:
            calls[span.call_id] = span
        found.append(span)
    root.end = max(span.end for span in found)
    return found


def iso(nanoseconds: int) -> str:
    """UTC, to the microsecond."""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat(timespec="microseconds")


def _span(event: Mapping[str, Any], span_id: str, parent_id: str, at: int) -> Span:
    kind = str(event.get("kind", "event"))
    span = Span(kind="event", name=kind, id=span_id, parent_id=parent_id, start=at, end=at)
    match kind:
        case "llm_call":
            _fill_llm(span, event)
        case "tool_call":
            span.kind, span.name = "tool", str(event.get("name") or "tool")
            span.call_id = str(event.get("id") or "")
            span.input = _text(event.get("args"))
        case "message":
            role, text = _text(event.get("role")), _text(event.get("text"))
            span.attributes = {"message.role": role}
            if role == "assistant":
                span.output = text
            else:
                span.input = text
        case "error":
            span.error = _text(event.get("message")) or "error"
        case _:
            span.name = _text(event.get("name") or event.get("action")) or kind
            span.attributes = {
                f"evaltower.{name}": _text(value) for name, value in event.items() if name not in ENVELOPE
            }
    return span


def _fill_llm(span: Span, event: Mapping[str, Any]) -> None:
    span.kind = "llm"
    span.model = _text(event.get("model"))
    span.name = span.model or "llm_call"
    cost = event.get("cost")
    cost = cost if isinstance(cost, Mapping) else {}
    counts = (
        _number(cost, "inputTokens", "input_tokens", "prompt_tokens"),
        _number(cost, "outputTokens", "output_tokens", "completion_tokens"),
    )
    if counts != (None, None):
        span.tokens = (int(counts[0] or 0), int(counts[1] or 0))
    span.usd = _number(cost, "usd")
    took = _number(event, "latencyMs", "latency_ms") or 0.0
    span.input, span.output = _text(event.get("input")), _text(event.get("output"))
    # An event of ours is written when the answer is there; one that was collected says when it began.
    if "timestamp" in event:
        span.start -= int(took * 1e6)
    else:
        span.end += int(took * 1e6)


def _finish(call: Span, event: Mapping[str, Any], at: int) -> None:
    call.end = max(at, call.start)
    call.output = _text(event.get("output"))
    if event.get("ok") is False:
        call.error = call.output or "failed"


def _told(item: ExportItem) -> dict[str, Any]:
    row = item.row
    metrics = {f"evaltower.metric.{name}": value for name, value in row.metrics.items() if value is not None}
    told = {
        EPISODE: item.correlation_id,
        "evaltower.run": item.run_id,
        "evaltower.graph": item.graph_name,
        "evaltower.episode_index": row.episode_index,
        "evaltower.episode_id": row.episode_id,
        "evaltower.status": row.status,
        "evaltower.termination": row.termination,
        "evaltower.step_count": row.step_count,
        **metrics,
    }
    if row.verdict is not None:
        told["evaltower.verdict"] = row.verdict
    return {name: value for name, value in told.items() if value != ""}


def _last_answer(events: Sequence[Mapping[str, Any]]) -> str:
    answers = (
        event.get("text")
        for event in reversed(events)
        if event.get("kind") == "message" and event.get("role") == "assistant"
    )
    return _text(next(answers, ""))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return clip(value if isinstance(value, str) else as_json(value), LONGEST_TEXT)


def _number(data: Mapping[str, Any], *names: str) -> float | None:
    found = (data[name] for name in names if name in data)
    return next((float(n) for n in found if isinstance(n, int | float) and not isinstance(n, bool)), None)


def _time(event: Mapping[str, Any], began: int) -> int:
    """When an event was: as it says itself, else milliseconds after the first."""
    for name in ("at", "timestamp"):
        if moment := _nanoseconds(event.get(name)):
            return moment
    return began + int((_number(event, "t") or 0.0) * 1e6)


def _nanoseconds(text: Any) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return int(moment.astimezone(UTC).timestamp() * 1e6) * 1000


def _now() -> int:
    return int(datetime.now(UTC).timestamp() * 1e6) * 1000
