"""LangSmith: a run and its children, and feedback a score."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from engine.scoring.errors import ExportError
from engine.scoring.platform import ANY, GONE, Answer, Platform
from engine.scoring.sinks.base import ExportItem, Placed, Sink
from engine.scoring.sinks.ids import Ids
from engine.scoring.sinks.payload import ScorePayload, chunks, refused
from engine.scoring.sinks.spans import Span, spans
from engine.scoring.spec import SinkSpec

CHUNK_BYTES = 3_000_000
RETRY_SEC = 0.3
"""Runs are queued: feedback that comes too early does not find its own."""

_TYPES = {"root": "chain", "llm": "llm", "tool": "tool", "event": "chain"}
_APART = ("inputs", "outputs", "extra")
"""Parts of their own of a run in a multipart request."""


@dataclass(frozen=True, slots=True)
class Session:
    """A project, which the API calls a session; both empty where it is not known."""

    id: str = ""
    tenant_id: str = ""


class LangSmithSink(Sink):
    def __init__(self, spec: SinkSpec, platform: Platform) -> None:
        super().__init__(spec, platform)
        self._session = Session()
        self._asking = asyncio.Lock()

    async def create(self, item: ExportItem, scores: Sequence[ScorePayload], ids: Ids) -> Placed:
        if not self.spec.project:
            raise ExportError("the sink names no project: give its name as 'project'")
        runs = _runs(item, ids, self.spec.project)
        for chunk in chunks(runs, CHUNK_BYTES):
            answer = await self.platform.post_parts("/runs/multipart", dict(_parts(chunk)), taken=GONE)
            if not answer.ok:
                await self._one_by_one(runs)
                break
        return Placed(str(runs[0]["id"]))

    async def score(
        self, item: ExportItem, placed: Placed, scores: Sequence[ScorePayload], ids: Ids
    ) -> str | None:
        session = await self._found_session()
        problems = []
        for score in scores:
            answer = await self._feedback(_feedback(score, placed.external_id, session, ids))
            if not answer.ok:
                problems.append(f"{score.name}: {answer.problem}")
        return refused(problems, len(scores))

    async def link(self, external_id: str) -> str:
        session = await self._found_session()
        host = _site(self.platform.shown)
        if session.tenant_id:
            return f"{host}/o/{session.tenant_id}/projects/p/{session.id}/r/{external_id}?poll=true"
        path = (await self.platform.get(f"/runs/{external_id}", taken=ANY)).field("app_path")
        return f"{host}{path}" if path else ""

    async def _one_by_one(self, runs: Sequence[Mapping[str, Any]]) -> None:
        """As servers without the multipart route take them; 409 is a run that is there."""
        for run in runs:
            await self.platform.post("/runs", run, taken={409})

    async def _feedback(self, body: Mapping[str, Any]) -> Answer:
        answer = await self.platform.post("/feedback", body, taken=ANY)
        if answer.status == 404:
            await asyncio.sleep(RETRY_SEC)
            answer = await self.platform.post("/feedback", body, taken=ANY)
        if answer.status == 409:  # it is there, maybe from before the episode was scored again
            said = {name: body.get(name) for name in ("score", "value", "comment")}
            answer = await self.platform.patch(f"/feedback/{body['id']}", said, taken=ANY)
        return answer

    async def _found_session(self) -> Session:
        """Feedback without its project's id is refused by newer servers; older ones do not need it."""
        async with self._asking:
            if not self._session.id and self.spec.project:
                answer = await self.platform.get(
                    "/sessions", {"limit": 1, "name": self.spec.project}, taken=ANY
                )
                for found in answer.entries():
                    self._session = Session(str(found.get("id") or ""), str(found.get("tenant_id") or ""))
        return self._session


def _runs(item: ExportItem, ids: Ids, project: str) -> list[dict[str, Any]]:
    found = spans(item, ids)
    run_ids = {span.id: ids.uuid(span.id) for span in found}
    root_id = run_ids[found[0].id]
    root_order = _order(found[0], root_id)
    runs = []
    for span in found:
        run_id = run_ids[span.id]
        run = _run(span, run_id, project)
        run |= {"trace_id": root_id, "dotted_order": root_order}
        if span.parent_id:
            run |= {"parent_run_id": run_ids[span.parent_id]}
            run["dotted_order"] = f"{root_order}.{_order(span, run_id)}"
        runs.append(run)
    return runs


def _run(span: Span, run_id: str, project: str) -> dict[str, Any]:
    metadata = dict(span.attributes)
    outputs: dict[str, Any] = {"output": span.output} if span.output else {}
    if span.kind == "llm":
        metadata["ls_model_name"] = span.model
        outputs |= {"usage_metadata": usage} if (usage := _usage(span)) else {}
    run = {
        "id": run_id,
        "name": span.name,
        "run_type": _TYPES[span.kind],
        "session_name": project,
        "start_time": _moment(span.start).isoformat(),
        "end_time": _moment(span.end).isoformat(),
        "inputs": {"input": span.input} if span.input else {},
        "outputs": outputs,
        "extra": {"metadata": metadata},
    }
    return run | ({"error": span.error} if span.error else {})


def _usage(span: Span) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if span.tokens is not None:
        given, made = span.tokens
        found = {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}
    return found if span.usd is None else {**found, "total_cost": span.usd}


def _parts(runs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    for run in runs:
        name = f"post.{run['id']}"
        yield name, {key: value for key, value in run.items() if key not in _APART}
        yield from ((f"{name}.{key}", run[key]) for key in _APART)


def _feedback(score: ScorePayload, run_id: str, session: Session, ids: Ids) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    found = {
        "id": ids.uuid(f"score#{score.key}"),
        "run_id": run_id,
        "trace_id": run_id,
        "key": score.name,
        "score": round(score.value, 4),  # it refuses more
        "value": score.label,
        "comment": score.comment,
        "session_id": session.id,
        "feedback_source": {"type": "model" if score.by_judge else "api", "metadata": score.metadata},
        "created_at": now,
        "modified_at": now,
    }
    return {name: value for name, value in found.items() if value not in (None, "")}


def _moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def _order(span: Span, run_id: str) -> str:
    return f"{_moment(span.start):%Y%m%dT%H%M%S%f}Z{run_id}"


def _site(endpoint: str) -> str:
    """Where people look, given where programs ask."""
    parts = urlsplit(endpoint)
    path = parts.path.removesuffix("/v1").removesuffix("/api")
    host = parts.netloc.replace("api.smith.", "smith.", 1)
    return urlunsplit((parts.scheme, host, path, "", ""))
