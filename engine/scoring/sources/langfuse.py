"""Traces of a Langfuse: observations by the v2 API, or, where a server has none, with their trace."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import msgspec

from engine.scoring.attributes import Names, loaded
from engine.scoring.correlation import RUN_KEY, trace_id
from engine.scoring.errors import CollectError
from engine.scoring.platform import GONE, Platform, segment
from engine.scoring.sources.pages import every_page
from engine.scoring.spans import Event, Span, events, nanoseconds

PAGE = 1000
FIELDS = "basic,usage,model,io,metadata,trace_context"

_KINDS = {"GENERATION": "llm", "TOOL": "tool", "AGENT": "agent", "CHAIN": "chain"}


class _Observation(msgspec.Struct, rename="camel"):
    """``usage`` and ``calculated_total_cost``: of servers from before the details."""

    id: str
    start_time: datetime
    trace_id: str | None = None
    parent_observation_id: str | None = None
    type: str = ""
    name: str | None = None
    end_time: datetime | None = None
    level: str | None = None
    status_message: str | None = None
    model: str | None = None
    usage_details: Any = None
    usage: Any = None
    cost_details: Any = None
    total_cost: Any = None
    calculated_total_cost: Any = None
    input: Any = None
    output: Any = None
    metadata: Any = None


class _Meta(msgspec.Struct):
    cursor: str | None = None


class _Page(msgspec.Struct):
    data: list[_Observation]
    meta: _Meta = msgspec.field(default_factory=_Meta)


class _Trace(msgspec.Struct):
    observations: list[_Observation]


class LangfuseSource:
    """``tagged``: traces are searched by their metadata or session; else found by their id."""

    def __init__(self, platform: Platform, names: Names, *, tagged: bool) -> None:
        self._platform = platform
        self._names = names
        self._tagged = tagged

    async def fetch(self, run_id: str) -> list[Event]:
        traces = await self._search(run_id) if self._tagged else [trace_id(run_id)]
        found = [seen for trace in traces for seen in await self._of_trace(trace)]
        known = {seen.id for seen in found}
        return events([_span(seen, known) for seen in found], self._names)

    async def _search(self, run_id: str) -> list[str]:
        """A key of our own, or the process's attribute as OTLP brings it; then the session."""
        metadata = {"type": "stringObject", "column": "metadata", "operator": "=", "value": run_id}
        for wanted in (
            {**metadata, "key": RUN_KEY},
            {**metadata, "key": f"resourceAttributes.{RUN_KEY}"},
            {"type": "string", "column": "sessionId", "operator": "=", "value": run_id},
        ):
            found = await self._observations({"filter": json.dumps([wanted]), "fields": "core"})
            if found is None:
                raise CollectError(
                    "trace.correlate: this Langfuse has no v2 observations, and cannot be searched by tag"
                )
            if found:
                return list(dict.fromkeys(seen.trace_id for seen in found if seen.trace_id))
        return []

    async def _of_trace(self, trace: str) -> list[_Observation]:
        found = await self._observations({"traceId": trace, "fields": FIELDS})
        if found is not None:
            return found
        reply = await self._platform.get(f"/api/public/traces/{segment(trace)}", taken=(404,))
        return [] if reply.status == 404 else reply.read(_Trace).observations

    async def _observations(self, query: Mapping[str, str]) -> list[_Observation] | None:
        """None where the server has no such API."""
        absent = False

        async def page(cursor: str | None) -> tuple[list[_Observation], str | None]:
            nonlocal absent
            asked = {**query, "limit": PAGE, **({} if cursor is None else {"cursor": cursor})}
            reply = await self._platform.get("/api/public/v2/observations", asked, taken=GONE)
            if reply.status in GONE:
                absent = True
                return [], None
            found = reply.read(_Page)
            return found.data, found.meta.cursor

        observations = await every_page(page)
        return None if absent else observations


def _span(seen: _Observation, known: Collection[str]) -> Span:
    usage = _mapping(seen.usage_details) or _mapping(seen.usage)
    cost = _mapping(seen.cost_details).get("total")
    metadata = _mapping(seen.metadata)
    told = {
        "openinference.span.kind": _KINDS.get(seen.type.upper()),
        "gen_ai.request.model": seen.model,
        "gen_ai.usage.input_tokens": usage.get("input"),
        "gen_ai.usage.output_tokens": usage.get("output"),
        "evaltower.cost.usd": next(
            (usd for usd in (cost, seen.total_cost, seen.calculated_total_cost) if usd is not None), None
        ),
        "tool.args": seen.input,
        "tool.output": seen.output,
        # The answer is what the whole gave, not each of its steps. What is above the whole is the episode.
        "message.content": None if seen.parent_observation_id in known else seen.output,
    }
    own = {name: value for name, value in told.items() if value is not None}
    return Span(
        id=seen.id,
        trace_id=seen.trace_id or "",
        parent=seen.parent_observation_id or "",
        name=seen.name or "",
        start_ns=nanoseconds(seen.start_time),
        end_ns=None if seen.end_time is None else nanoseconds(seen.end_time),
        attributes={**metadata, **_mapping(metadata.get("attributes")), **own},
        failed=(seen.level or "").upper() == "ERROR",
        status=seen.status_message or "",
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    """An object, also as JSON text."""
    found = loaded(value)
    return found if isinstance(found, Mapping) else {}
