"""Langfuse: traces over OTLP and a list of scores, as of version 4; its ingestion API where it is older."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from engine.scoring.errors import ExportError
from engine.scoring.platform import ANY, GONE, Answer, Platform
from engine.scoring.sinks.base import ExportItem, Placed, Sink
from engine.scoring.sinks.ids import Ids
from engine.scoring.sinks.langfuse_batch import Batch, observation_event, score_event, trace_event
from engine.scoring.sinks.otlp import partly_refused
from engine.scoring.sinks.otlp_json import encoded, request
from engine.scoring.sinks.payload import ScorePayload, as_json, chunks, refused
from engine.scoring.sinks.spans import EPISODE, Span, spans
from engine.scoring.spec import SinkSpec

TRACES = "/api/public/otel/v1/traces"
SCORES = "/api/public/scores"
TRACE_BYTES = 3_000_000
SCORE_BYTES = 1_000_000
"""What either route takes at most."""

_AT_ONCE = {"x-langfuse-ingestion-version": "4"}
"""Without it, what is sent is seen some 10 minutes later."""

_TYPES = {"root": "agent", "llm": "generation", "tool": "tool", "event": "span"}


class LangfuseSink(Sink):
    def __init__(self, spec: SinkSpec, platform: Platform) -> None:
        super().__init__(spec, platform)
        self._project_id: str | None = None
        self._asking = asyncio.Lock()

    async def create(self, item: ExportItem, scores: Sequence[ScorePayload], ids: Ids) -> Placed:
        placed = Placed(ids.trace())
        found = spans(item, ids)
        for chunk in chunks([_encoded(span, placed.external_id, item) for span in found], TRACE_BYTES):
            answer = await self.platform.post(
                TRACES,
                request(chunk, item.correlation_id),
                taken=GONE | {415},
                headers=_AT_ONCE,
            )
            if not answer.ok:
                return await self._created_before_otlp(item, found, ids)
            placed.warn(partly_refused(answer, len(chunk)))
        return placed

    async def score(
        self, item: ExportItem, placed: Placed, scores: Sequence[ScorePayload], ids: Ids
    ) -> str | None:
        problems: list[str] = []
        bodies = [_score(score, placed.external_id, ids) for score in scores]
        for chunk in chunks(bodies, SCORE_BYTES):
            answer = await self.platform.post(SCORES, chunk, taken=GONE | {400, 422})
            if not answer.ok:  # it takes no list: one score, or none at all
                return await self._scored_before_lists(scores, bodies, ids)
            problems += _rejected(answer)
        return refused(problems, len(scores))

    async def link(self, external_id: str) -> str:
        """Where the project is not told, the page that finds it."""
        async with self._asking:
            if self._project_id is None:
                projects = (await self.platform.get("/api/public/projects", taken=ANY)).entries("data")
                self._project_id = str(projects[0].get("id", "")) if projects else ""
        project = f"project/{self._project_id}/traces" if self._project_id else "trace"
        return f"{self.platform.shown}/{project}/{external_id}"

    async def _created_before_otlp(self, item: ExportItem, found: Sequence[Span], ids: Ids) -> Placed:
        trace_id = ids.trace()
        events = [trace_event(item, found[0], trace_id, ids)]
        events += [observation_event(span, trace_id, ids) for span in found[1:]]
        batch = Batch(self.platform)
        errors = await batch.send(events)
        if trace_problem := errors.pop(events[0]["id"], None):
            raise ExportError(f"the trace was refused: {trace_problem}")
        told = next(iter(errors.values()), "")
        warning = f"{len(errors)} of {len(found) - 1} observations were refused: {told}" if errors else None
        return Placed(trace_id, warning)

    async def _scored_before_lists(
        self, scores: Sequence[ScorePayload], bodies: Sequence[Mapping[str, Any]], ids: Ids
    ) -> str | None:
        events = [score_event(body, ids) for body in bodies]
        errors = await Batch(self.platform).send(events)
        names = {event["id"]: score.name for event, score in zip(events, scores, strict=True)}
        problems = [f"{name}: {errors[event_id]}" for event_id, name in names.items() if event_id in errors]
        return refused(problems, len(scores))


def _encoded(span: Span, trace_id: str, item: ExportItem) -> dict[str, Any]:
    prefix = "langfuse.observation"
    told: dict[str, Any] = {
        "langfuse.trace.name": item.graph_name,
        f"langfuse.trace.metadata.{EPISODE}": item.correlation_id,
        "session.id": item.run_id,
        f"{prefix}.type": _TYPES[span.kind],
        f"{prefix}.input": span.input,
        f"{prefix}.output": span.output,
        f"{prefix}.model.name": span.model,
    }
    told |= {f"{prefix}.metadata.{name}": value for name, value in span.attributes.items()}
    if span.tokens is not None:
        told[f"{prefix}.usage_details"] = as_json({"input": span.tokens[0], "output": span.tokens[1]})
    if span.usd is not None:
        told[f"{prefix}.cost_details"] = as_json({"total": span.usd})
    if span.error:
        told |= {f"{prefix}.level": "ERROR", f"{prefix}.status_message": span.error}
    return encoded(span, trace_id, {name: value for name, value in told.items() if value not in ("", None)})


def _score(score: ScorePayload, trace_id: str, ids: Ids) -> dict[str, Any]:
    found = {
        "id": ids.uuid(f"score#{score.key}"),
        "traceId": trace_id,
        "name": score.name,
        "value": score.value,
        "dataType": "NUMERIC",
        "metadata": score.metadata,
    }
    if score.comment:
        found["comment"] = score.comment
    return found


def _rejected(answer: Answer) -> list[str]:
    """What a list's answer (207) says was not taken. It names no score: only how many, and why."""
    errors = [str(entry.get("message", entry)) for entry in answer.entries("errors")]
    missing = max(answer.count("rejected") - len(errors), 0)
    return errors + ["it did not say why"] * missing
