"""Traces of a Jaeger: its v3 query API, which speaks OTLP, and the first one where that is not there."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from engine.scoring.attributes import Names
from engine.scoring.correlation import RUN_KEY, trace_id
from engine.scoring.errors import CollectError
from engine.scoring.platform import Answer, Platform, segment
from engine.scoring.sources.jaeger_legacy import legacy_spans
from engine.scoring.sources.otlp import spans_of_resources
from engine.scoring.spans import Event, Span, events

MOST_TRACES = 100
"""Of one episode."""

_BACK = timedelta(days=30)
_AHEAD = timedelta(days=1)
"""Clocks differ; v3 wants both ends of a window."""


class OtelSource:
    """``service``: whose traces are searched; without one, traces are found by their id."""

    def __init__(
        self,
        platform: Platform,
        names: Names,
        service: str | None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._platform = platform
        self._names = names
        self._service = service
        self._now = now

    async def fetch(self, run_id: str) -> list[Event]:
        if self._service is None:
            return events(await self._by_id(trace_id(run_id)), self._names)
        return events(await self._by_tag(run_id, self._service), self._names)

    async def _by_id(self, trace: str) -> list[Span]:
        found = _v3_spans(await self._platform.get(f"/api/v3/traces/{segment(trace)}", taken=(404,)))
        if found is not None:
            return found
        reply = await self._platform.get(f"/api/traces/{segment(trace)}", taken=(404,))
        return [] if reply.status == 404 else legacy_spans(reply)

    async def _by_tag(self, run_id: str, service: str) -> list[Span]:
        found = await self._v3_search(run_id, service)
        ours = None if found is None else _of_run(found, run_id)
        # A v3 from before 2.19 does not heed the attributes: it finds any trace of the service.
        if found is None or ours != found:
            ours = await self._legacy_search(run_id, service, ours)
        if len({span.trace_id for span in ours or ()}) >= MOST_TRACES:
            raise CollectError(
                f"{run_id} has {MOST_TRACES} traces or more: what is above that is not fetched"
            )
        return ours or []

    async def _v3_search(self, run_id: str, service: str) -> list[Span] | None:
        now = self._now()
        query = {
            "query.serviceName": service,
            "query.attributes": json.dumps({RUN_KEY: run_id}),
            "query.startTimeMin": _rfc3339(now - _BACK),
            "query.startTimeMax": _rfc3339(now + _AHEAD),
            "query.searchDepth": MOST_TRACES,
        }
        return _v3_spans(await self._platform.get("/api/v3/traces", query, taken=(404,)))

    async def _legacy_search(self, run_id: str, service: str, known: list[Span] | None) -> list[Span]:
        """``known``: what v3 has of the run, None where v3 is not there."""
        now = self._now()
        query = {
            "service": service,
            "tags": json.dumps({RUN_KEY: run_id}),
            "start": _microseconds(now - _BACK),
            "end": _microseconds(now + _AHEAD),
            "limit": MOST_TRACES,
        }
        reply = await self._platform.get("/api/traces", query, taken=() if known is None else (404,))
        return known or [] if reply.status == 404 else _of_run(legacy_spans(reply), run_id)


def _v3_spans(reply: Answer) -> list[Span] | None:
    """None where it was not v3 that answered: a Jaeger without it serves its page, or a 404 of plain text."""
    try:
        answer = reply.json()
    except CollectError:
        return None
    if not isinstance(answer, dict):
        return None
    if reply.status == 404:
        return [] if isinstance(answer.get("error"), dict) else None
    result = answer.get("result")
    return (
        spans_of_resources(result.get("resourceSpans") or [], reply.asked)
        if isinstance(result, dict)
        else None
    )


def _of_run(spans: list[Span], run_id: str) -> list[Span]:
    """The traces in which a span, or its process, names the run."""
    ours = {
        span.trace_id
        for span in spans
        if run_id in (span.attributes.get(RUN_KEY), span.resource.get(RUN_KEY))
    }
    return [span for span in spans if span.trace_id in ours]


def _rfc3339(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _microseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000_000
