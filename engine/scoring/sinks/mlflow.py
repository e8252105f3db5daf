"""MLflow 3: a trace, its spans over OTLP, and an assessment a score."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from engine.scoring.errors import ExportError
from engine.scoring.platform import ANY, Platform, segment
from engine.scoring.sinks.base import ExportItem, Placed, Sink
from engine.scoring.sinks.ids import Ids
from engine.scoring.sinks.otlp import CHUNK_BYTES, partly_refused
from engine.scoring.sinks.otlp_json import encoded, request
from engine.scoring.sinks.payload import ScorePayload, chunks, clip, refused
from engine.scoring.sinks.spans import EPISODE, Span, iso, spans
from engine.scoring.spec import SinkSpec

API = "/api/3.0/mlflow/traces"
EXPORT_ID = "evaltower.export_id"
LONGEST_PREVIEW = 1_000

_SAID = ("feedback", "rationale", "metadata")
"""What of an assessment may be another when an episode is scored again."""


class MlflowSink(Sink):
    def __init__(self, spec: SinkSpec, platform: Platform) -> None:
        super().__init__(spec, platform)
        self._experiment_id = ""
        self._asking = asyncio.Lock()

    async def create(self, item: ExportItem, scores: Sequence[ScorePayload], ids: Ids) -> Placed:
        experiment = await self._experiment()
        trace_id = ids.trace()
        found = spans(item, ids)
        info = _trace_info(item, found[0], f"tr-{trace_id}", experiment)
        await self.platform.post(API, {"trace": {"trace_info": info}})
        placed = Placed(f"tr-{trace_id}")
        try:
            for chunk in chunks([encoded(span, trace_id) for span in found], CHUNK_BYTES):
                answer = await self.platform.post(
                    "/v1/traces",
                    request(chunk, item.correlation_id),
                    headers={"x-mlflow-experiment-id": experiment},
                )
                placed.warn(partly_refused(answer, len(chunk)))
        except ExportError as error:  # the trace is there, and can have scores
            placed.warn(f"its spans did not arrive: {error}")
        return placed

    async def score(
        self, item: ExportItem, placed: Placed, scores: Sequence[ScorePayload], ids: Ids
    ) -> str | None:
        path = f"{API}/{segment(placed.external_id)}"
        there = await self._exported(path) if item.idempotency_key else {}
        problems = []
        for score in scores:
            found = _assessment(score, ids.of(f"score#{score.key}", 32))
            earlier = there.get(found["metadata"][EXPORT_ID])
            if earlier is None:
                answer = await self.platform.post(f"{path}/assessments", {"assessment": found}, taken=ANY)
            elif any(earlier.get(name, "") != found.get(name, "") for name in _SAID):
                place = f"{path}/assessments/{segment(str(earlier.get('assessment_id')))}"
                change = {"assessment": found, "update_mask": ",".join(_SAID)}
                answer = await self.platform.patch(place, change, taken=ANY)
            else:
                continue
            if not answer.ok:
                problems.append(f"{score.name}: {answer.problem}")
        return refused(problems, len(scores))

    async def link(self, external_id: str) -> str:
        if not self.spec.experiment:
            return ""
        experiment = await self._experiment()
        page = f"{self.platform.shown}/#/experiments/{experiment}/traces"
        return f"{page}?selectedEvaluationId={external_id}"

    async def _exported(self, path: str) -> dict[str, Mapping[str, Any]]:
        """Those of our scores that the trace has: MLflow would take each of them a second time."""
        answer = await self.platform.get(path, taken=ANY)
        found = answer.entries("trace", "trace_info", "assessments")
        told = [(entry.get("metadata"), entry) for entry in found]
        return {str(m[EXPORT_ID]): entry for m, entry in told if isinstance(m, Mapping) and EXPORT_ID in m}

    async def _experiment(self) -> str:
        """The experiment's id: given, or found by its name."""
        given = self.spec.experiment
        if not given:
            raise ExportError("the sink names no experiment: give its id or its name as 'experiment'")
        async with self._asking:
            if not self._experiment_id:
                self._experiment_id = given if given.isdecimal() else await self._named(given)
        return self._experiment_id

    async def _named(self, name: str) -> str:
        path = "/api/2.0/mlflow/experiments/get-by-name"
        answer = await self.platform.get(path, {"experiment_name": name}, taken=ANY)
        if found := answer.field("experiment", "experiment_id"):
            return str(found)
        raise ExportError(f"there is no experiment {name!r}: {answer.problem}")


def _trace_info(item: ExportItem, root: Span, trace_id: str, experiment: str) -> dict[str, Any]:
    return {
        "trace_id": trace_id,
        "trace_location": {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}},
        "request_time": iso(root.start),
        "execution_duration": f"{(root.end - root.start) / 1e9:.3f}s",
        "state": "ERROR" if root.error else "OK",
        "request_preview": clip(root.input, LONGEST_PREVIEW),
        "response_preview": clip(root.output, LONGEST_PREVIEW),
        "trace_metadata": {name: str(value) for name, value in root.attributes.items()},
        "tags": {"mlflow.traceName": item.graph_name, EPISODE: item.correlation_id},
    }


def _assessment(score: ScorePayload, export_id: str) -> dict[str, Any]:
    source_type = "LLM_JUDGE" if score.by_judge else "CODE"
    found = {
        "assessment_name": score.name,
        "source": {"source_type": source_type, "source_id": score.source},
        "feedback": {"value": score.value},
        "metadata": {**score.metadata, EXPORT_ID: export_id},
    }
    if score.comment:
        found["rationale"] = score.comment
    return found
