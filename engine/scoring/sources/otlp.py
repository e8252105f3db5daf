"""Spans as OTLP/JSON writes them, in camelCase or, as MLflow does, in snake_case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from engine.scoring.errors import CollectError
from engine.scoring.spans import Span

_UNDERSCORE = re.compile("_([a-z])")


class _Value(msgspec.Struct, rename="camel"):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | None = None
    double_value: float | None = None
    bytes_value: str | None = None
    array_value: _Values | None = None
    kvlist_value: _Pairs | None = None

    def plain(self) -> Any:
        if self.array_value is not None:
            return [value.plain() for value in self.array_value.values]
        if self.kvlist_value is not None:
            return _plain(self.kvlist_value.values)
        scalars = (self.string_value, self.bool_value, self.int_value, self.double_value, self.bytes_value)
        return next((scalar for scalar in scalars if scalar is not None), None)


class _Pair(msgspec.Struct):
    key: str
    value: _Value | None = None


class _Values(msgspec.Struct):
    values: list[_Value] = []


class _Pairs(msgspec.Struct):
    values: list[_Pair] = []


class _Status(msgspec.Struct):
    code: int | str | None = None
    message: str | None = None


class _Span(msgspec.Struct, rename="camel"):
    span_id: str
    start_time_unix_nano: int
    trace_id: str = ""
    parent_span_id: str | None = None
    name: str = ""
    end_time_unix_nano: int | None = None
    attributes: list[_Pair] = []
    status: _Status | None = None


class _Scope(msgspec.Struct):
    spans: list[_Span] = []


class _Resource(msgspec.Struct):
    attributes: list[_Pair] = []


class _ResourceSpans(msgspec.Struct, rename="camel"):
    resource: _Resource | None = None
    scope_spans: list[_Scope] = []


def spans_of_resources(resource_spans: Any, asked: str) -> list[Span]:
    """Of ``resourceSpans``. CollectError, which names what was ``asked``, where it is none."""
    found: list[Span] = []
    for entry in _converted(resource_spans, list[_ResourceSpans], asked):
        resource = _plain(entry.resource.attributes) if entry.resource is not None else {}
        found += [_span(span, resource) for scope in entry.scope_spans for span in scope.spans]
    return found


def spans_of_list(spans: Any, asked: str) -> list[Span]:
    """Of a list of spans without their resource. CollectError as above."""
    return [_span(span, {}) for span in _converted(spans, list[_Span], asked)]


def _span(span: _Span, resource: Mapping[str, Any]) -> Span:
    status = span.status or _Status()
    return Span(
        id=span.span_id,
        trace_id=span.trace_id,
        parent=span.parent_span_id or "",
        name=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano or None,
        attributes=_plain(span.attributes),
        resource=resource,
        failed=str(status.code).upper() in ("2", "STATUS_CODE_ERROR", "ERROR"),
        status=status.message or "",
    )


def _plain(pairs: list[_Pair]) -> dict[str, Any]:
    return {pair.key: pair.value.plain() for pair in pairs if pair.value is not None}


def _converted(value: Any, shape: Any, asked: str) -> Any:
    try:
        return msgspec.convert(_camel(value), shape, strict=False)
    except (msgspec.ValidationError, RecursionError) as error:
        raise CollectError(f"{asked}: the spans are not as expected: {error}") from None


def _camel(value: Any) -> Any:
    """The names of an OTLP message are its own: attributes are lists of key and value."""
    if isinstance(value, dict):
        return {
            _UNDERSCORE.sub(lambda match: match[1].upper(), name): _camel(item)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_camel(item) for item in value]
    return value
