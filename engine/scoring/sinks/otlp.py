"""Any OpenTelemetry collector, over OTLP/HTTP with JSON. Scores are events of the root span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.scoring.errors import ExportError
from engine.scoring.platform import Answer, Platform
from engine.scoring.sinks.base import ExportItem, Placed, Sink
from engine.scoring.sinks.ids import Ids
from engine.scoring.sinks.otlp_json import encoded, pairs, request
from engine.scoring.sinks.payload import ScorePayload, chunks
from engine.scoring.sinks.spans import spans
from engine.scoring.spec import SinkSpec

PATH = "/v1/traces"
CHUNK_BYTES = 3_000_000
"""Collectors take 4 MB and more."""


class OtlpSink(Sink):
    """There is nothing to attach scores to: a collector passes on what it gets."""

    def __init__(self, spec: SinkSpec, platform: Platform) -> None:
        super().__init__(spec, platform)
        platform.endpoint = platform.endpoint.removesuffix(PATH)

    async def create(self, item: ExportItem, scores: Sequence[ScorePayload], ids: Ids) -> Placed:
        trace_id = ids.trace()
        found = [encoded(span, trace_id) for span in spans(item, ids)]
        root = found[0]
        root["events"] = [_evaluation(score, root["endTimeUnixNano"]) for score in scores]
        placed = Placed(trace_id)
        for chunk in chunks(found, CHUNK_BYTES):
            answer = await self.platform.post(PATH, request(chunk, item.correlation_id), taken={415})
            if answer.status == 415:
                raise ExportError(f"{answer.error} (it has to take OTLP as JSON)", answer.status)
            placed.warn(partly_refused(answer, len(chunk)))
        return placed

    async def score(
        self, item: ExportItem, placed: Placed, scores: Sequence[ScorePayload], ids: Ids
    ) -> str | None:
        return None


def partly_refused(answer: Answer, sent: int) -> str | None:
    """What a collector that took the request says of it. ExportError where it dropped every span."""
    count = answer.count("partialSuccess", "rejectedSpans")
    message = str(answer.field("partialSuccess", "errorMessage") or "")
    if count >= sent:
        raise ExportError(f"the collector rejected all of {sent} spans: {message or 'it did not say why'}")
    if count:
        return f"the collector rejected {count} of {sent} spans: {message or 'it did not say why'}"
    return message or None


def _evaluation(score: ScorePayload, at: str) -> dict[str, Any]:
    """An event of OpenTelemetry's GenAI conventions."""
    told = {
        "gen_ai.evaluation.name": score.name,
        "gen_ai.evaluation.score.value": score.value,
        "gen_ai.evaluation.score.label": score.verdict,
        "gen_ai.evaluation.explanation": score.comment,
        **score.metadata,
    }
    known = {name: value for name, value in told.items() if value not in (None, "")}
    return {"name": "gen_ai.evaluation.result", "timeUnixNano": at, "attributes": pairs(known)}
