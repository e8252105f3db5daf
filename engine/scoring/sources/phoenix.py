"""Traces of an Arize Phoenix."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from engine.scoring.attributes import Names, find, load_json
from engine.scoring.correlation import RUN_KEY, trace_id
from engine.scoring.platform import Platform, segment
from engine.scoring.sources.pages import every_page
from engine.scoring.spans import Event, Span, events, nanoseconds

PAGE = 1000

_SESSION = "session.id"


class _Context(msgspec.Struct):
    trace_id: str = ""
    span_id: str = ""


class _Span(msgspec.Struct):
    start_time: datetime
    name: str = ""
    context: _Context = msgspec.field(default_factory=_Context)
    span_kind: str | None = None
    parent_id: str | None = None
    end_time: datetime | None = None
    status_code: str | None = None
    status_message: str | None = None
    attributes: dict[str, Any] = {}


class _Page(msgspec.Struct):
    data: list[_Span]
    next_cursor: str | None = None


class PhoenixSource:
    """``tagged``: traces are searched by an attribute of their spans; else found by their id."""

    def __init__(self, platform: Platform, names: Names, project: str, *, tagged: bool) -> None:
        self._platform = platform
        self._names = names
        self._path = f"/v1/projects/{segment(project)}/spans"
        self._tagged = tagged

    async def fetch(self, run_id: str) -> list[Event]:
        traces = await self._search(run_id) if self._tagged else [trace_id(run_id)]
        found = [span for trace in traces for span in await self._of_trace(trace)]
        return events([_span(span) for span in found], self._names)

    async def _search(self, run_id: str) -> list[str]:
        """By our attribute, or the session: those of the process are dropped on the way in."""
        for name in (RUN_KEY, _SESSION):
            found = await self._spans({"attribute": f"{name}:{_quoted(run_id)}"})
            # A Phoenix that does not know the parameter says nothing, and returns every span.
            ours = [span for span in found if find(span.attributes, name) == run_id]
            if ours:
                return list(dict.fromkeys(span.context.trace_id for span in ours))
        return []

    async def _of_trace(self, trace: str) -> list[_Span]:
        return [span for span in await self._spans({"trace_id": trace}) if span.context.trace_id == trace]

    async def _spans(self, query: Mapping[str, str]) -> list[_Span]:
        async def page(cursor: str | None) -> tuple[list[_Span], str | None]:
            asked = {**query, "limit": PAGE, **({} if cursor is None else {"cursor": cursor})}
            reply = await self._platform.get(self._path, asked, taken=(404,))
            if reply.status == 404:  # a project is there from its first span on
                return [], None
            found = reply.read(_Page)
            return found.data, found.next_cursor

        return await every_page(page)


def _quoted(value: str) -> str:
    """A text that reads as a number or the like is sent in quotes, to be compared as the text it is."""
    try:
        load_json(value)
    except ValueError:
        return value
    return msgspec.json.encode(value).decode()


def _span(span: _Span) -> Span:
    kind = {"openinference.span.kind": span.span_kind} if span.span_kind else {}
    return Span(
        id=span.context.span_id,
        trace_id=span.context.trace_id,
        parent=span.parent_id or "",
        name=span.name,
        start_ns=nanoseconds(span.start_time),
        end_ns=None if span.end_time is None else nanoseconds(span.end_time),
        attributes={**span.attributes, **kind},
        failed=(span.status_code or "").upper() == "ERROR",
        status=span.status_message or "",
    )
