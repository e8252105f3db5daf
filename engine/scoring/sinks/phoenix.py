"""Arize Phoenix: a trace's spans, and an annotation a score."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from engine.scoring.errors import ExportError
from engine.scoring.platform import ANY, Answer, segment
from engine.scoring.sinks.base import ExportItem, Placed, Sink
from engine.scoring.sinks.ids import Ids
from engine.scoring.sinks.otlp_json import KINDS, attributes
from engine.scoring.sinks.payload import ScorePayload, chunks, refused
from engine.scoring.sinks.spans import Span, iso, spans

CHUNK_BYTES = 3_000_000
INSERTED_SEC = 5.0
"""Spans are queued, and annotations of a trace that is not inserted are refused, or dropped silently."""

ANNOTATIONS = "/v1/trace_annotations"
AT_ONCE = {"sync": "true"}


class PhoenixSink(Sink):
    async def create(self, item: ExportItem, scores: Sequence[ScorePayload], ids: Ids) -> Placed:
        if not self.spec.project:
            raise ExportError("the sink names no project: give its name as 'project'")
        path = f"/v1/projects/{segment(self.spec.project)}/spans"
        trace_id = ids.trace()
        for chunk in chunks([_encoded(span, trace_id) for span in spans(item, ids)], CHUNK_BYTES):
            answer = await self.platform.post(path, {"data": chunk}, taken={400})
            if not (answer.ok or _only_duplicates(answer)):
                raise answer.error
        if scores:
            await self._inserted(path, trace_id)
        return Placed(trace_id)

    async def score(
        self, item: ExportItem, placed: Placed, scores: Sequence[ScorePayload], ids: Ids
    ) -> str | None:
        found = [_annotation(score, placed.external_id) for score in scores]
        answer = await self.platform.post(ANNOTATIONS, {"data": found}, params=AT_ONCE, taken=ANY)
        if answer.ok:
            return None
        if answer.status == 404 and not item.existing_id:
            await self.platform.post(ANNOTATIONS, {"data": found}, params={"sync": "false"})
            placed.warn(f"its scores are queued: the trace was not inserted yet ({answer.problem})")
            return None
        # It takes all or nothing: each by itself, so that one that is refused does not keep the others out.
        problems = []
        for score, annotation in zip(scores, found, strict=True):
            answer = await self.platform.post(ANNOTATIONS, {"data": [annotation]}, params=AT_ONCE, taken=ANY)
            if not answer.ok:
                problems.append(f"{score.name}: {answer.problem}")
        return refused(problems, len(scores))

    async def link(self, external_id: str) -> str:
        return f"{self.platform.shown}/redirects/traces/{external_id}"

    async def _inserted(self, path: str, trace_id: str) -> None:
        """Wait until the trace can be read, at most INSERTED_SEC."""
        clock = asyncio.get_running_loop()
        deadline = clock.time() + INSERTED_SEC
        wait = 0.05
        while not (await self.platform.get(path, {"trace_id": trace_id, "limit": 1}, taken=ANY)).field(
            "data"
        ):
            if clock.time() + wait > deadline:
                return
            await asyncio.sleep(wait)
            wait = min(wait * 2, 0.5)


def _encoded(span: Span, trace_id: str) -> dict[str, Any]:
    return {
        "name": span.name,
        "context": {"trace_id": trace_id, "span_id": span.id},
        "span_kind": KINDS[span.kind],
        "parent_id": span.parent_id or None,
        "start_time": iso(span.start),
        "end_time": iso(span.end),
        "status_code": "ERROR" if span.error else "OK",
        "status_message": span.error,
        "attributes": attributes(span),
    }


def _annotation(score: ScorePayload, trace_id: str) -> dict[str, Any]:
    result = {"score": score.value, "label": score.verdict, "explanation": score.comment or None}
    return {
        "name": score.name,
        "annotator_kind": "LLM" if score.by_judge else "CODE",
        "trace_id": trace_id,
        "result": {name: value for name, value in result.items() if value is not None},
        "metadata": score.metadata,
        "identifier": f"evaltower:{score.grader_id}",
    }


def _only_duplicates(answer: Answer) -> bool:
    """Whether what was refused is there already, from an export before this."""
    return bool(answer.field("total_duplicates")) and not answer.field("total_invalid")
