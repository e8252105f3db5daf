"""Spans of any platform → trace events (contract scoring.md). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from engine.scoring.attributes import Names, loaded, text, truth

Event = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = 1e6
"""Nanoseconds."""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A span as every platform has it. Times in ns since 1970; ``end_ns``: None while it is open.

    ``trace_id``: by which its platform knows the trace. ``failed``: what its status says, in ``status`` in
    words. ``attributes``: in the conventions that :data:`~engine.scoring.attributes.NAMES` lists.
    ``resource``: those of the process that made it.
    """

    id: str
    trace_id: str = ""
    parent: str = ""
    name: str = ""
    start_ns: int
    end_ns: int | None = None
    attributes: Mapping[str, Any] = {}
    resource: Mapping[str, Any] = {}
    failed: bool = False
    status: str = ""

    @property
    def duration_ms(self) -> float | None:
        return None if self.end_ns is None else round((self.end_ns - self.start_ns) / _MS, 3)


def nanoseconds(moment: datetime) -> int:
    """Since 1970; a moment without an offset is in UTC."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1) * 1000


def events(spans: Iterable[Span], names: Names) -> list[Event]:
    """What the spans tell, in order of time; ``t``: ms since the first span's start.

    A span is an ``llm_call`` where it says so or carries a model or tokens, a ``tool_call`` (and, once ended,
    a ``tool_result``) where it says so or names a tool, an assistant ``message``, at its end, where it holds
    one, else a ``span``. One around others that carry tokens, and that declares itself an agent, is no call
    of its own: its tokens are their sum. A failed span that is no tool's keeps its status as ``error``.
    """
    ordered = sorted(spans, key=lambda span: span.start_ns)
    if not ordered:
        return []
    sums = _around_tokens(ordered, names)
    timed = [
        (at_ns, event) for span in ordered for at_ns, event in _told(span, names, is_sum=span.id in sums)
    ]
    timed.sort(key=lambda pair: pair[0])
    return [_placed(event, at_ns, ordered[0].start_ns) for at_ns, event in timed]


def _around_tokens(spans: Sequence[Span], names: Names) -> set[str]:
    """The ids of spans that have one with tokens below them."""
    parents = {span.id: span.parent for span in spans}
    around: set[str] = set()
    for span in spans:
        if not _has_tokens(span, names):
            continue
        above = span.parent
        while above and above != span.id and above not in around:
            around.add(above)
            above = parents.get(above, "")
    return around


def _has_tokens(span: Span, names: Names) -> bool:
    return any(names.number(what, span.attributes) is not None for what in ("input_tokens", "output_tokens"))


def _told(span: Span, names: Names, *, is_sum: bool) -> Iterator[tuple[int, Event]]:
    kind = names.kind(span.attributes)
    model = names.first("model", span.attributes)
    calls = model is not None or _has_tokens(span, names)
    if kind == "llm" or (calls and kind != "tool" and not (kind == "agent" and is_sum)):
        yield span.start_ns, _llm_call(span, names, model)
    elif kind == "tool" or (kind == "" and names.first("tool", span.attributes) is not None):
        yield from _tool(span, names)
    elif (message := names.first("message", span.attributes)) is not None:
        at_ns = span.start_ns if span.end_ns is None else span.end_ns
        yield at_ns, {**_base("message", span), "role": "assistant", "text": text(message), **_error(span)}
    else:
        attributes = {"attributes": dict(span.attributes)} if span.attributes else {}
        yield span.start_ns, {**_base("span", span), "name": span.name, **attributes, **_error(span)}


def _llm_call(span: Span, names: Names, model: Any) -> Event:
    """``cost`` holds what is known of it: what is not is left out, and is no 0."""
    event = _base("llm_call", span)
    if model is not None:
        event["model"] = text(model)
    counted = {
        "prompt_tokens": names.number("input_tokens", span.attributes),
        "completion_tokens": names.number("output_tokens", span.attributes),
        "cached_tokens": names.number("cached_tokens", span.attributes),
    }
    cost: dict[str, float] = {name: int(count) for name, count in counted.items() if count is not None}
    usd = names.number("usd", span.attributes)
    if usd is not None:
        cost["usd"] = usd
    if cost:
        event["cost"] = cost
    if span.duration_ms is not None:
        event["latency_ms"] = span.duration_ms
    return {**event, **_error(span)}


def _tool(span: Span, names: Names) -> Iterator[tuple[int, Event]]:
    call_id = text(names.first("tool_call_id", span.attributes) or span.id)
    name = text(names.first("tool", span.attributes) or span.name)
    args = loaded(names.first("args", span.attributes))
    yield span.start_ns, {**_base("tool_call", span), "id": call_id, "name": name, "args": args}
    if span.end_ns is None:
        return
    ok = not span.failed and not any(truth(value) for value in names.all("error", span.attributes))
    output = loaded(names.first("output", span.attributes))
    if output is None and not ok:
        output = span.status or text(names.first("error", span.attributes) or "")
    yield span.end_ns, {**_base("tool_result", span), "id": call_id, "ok": ok, "output": output}


def _base(kind: str, span: Span) -> Event:
    event: Event = {"kind": kind, "span_id": span.id}
    if span.trace_id:
        event["trace_id"] = span.trace_id
    if span.parent:
        event["parent_id"] = span.parent
    if span.duration_ms is not None:
        event["duration_ms"] = span.duration_ms
    return event


def _error(span: Span) -> Event:
    return {"error": span.status or "failed"} if span.failed else {}


def _placed(event: Event, at_ns: int, zero_ns: int) -> Event:
    placed = {"t": round((at_ns - zero_ns) / _MS, 3), **event}
    try:
        moment = _EPOCH + timedelta(microseconds=at_ns // 1000)
    except OverflowError:  # a span whose clock is no clock
        return placed
    return {**placed, "at": moment.isoformat(timespec="microseconds")}
