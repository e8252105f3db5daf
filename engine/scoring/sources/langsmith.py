"""Traces of LangSmith: runs by the v2 API, or the first one where a server has none."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from engine.scoring.attributes import Names
from engine.scoring.correlation import RUN_KEY, trace_id
from engine.scoring.errors import CollectError
from engine.scoring.platform import GONE, Answer, Platform
from engine.scoring.sources.pages import every_page
from engine.scoring.spans import Event, Span, events, nanoseconds

PAGE_V2 = 1000
PAGE_V1 = 100

_SELECT = (
    "id",
    "name",
    "run_type",
    "status",
    "start_time",
    "end_time",
    "error",
    "extra",
    "inputs",
    "outputs",
    "trace_id",
    "prompt_tokens",
    "completion_tokens",
    "total_cost",
)
_BACK = timedelta(days=30)
"""Without a start the v2 API looks back one day."""
_HEX = re.compile("[0-9a-f]{32}")


class _Run(msgspec.Struct):
    """``parent_run_id`` in v1, ``parent_run_ids`` in v2, the nearest last. ``total_cost``: a decimal text."""

    id: str
    start_time: datetime
    name: str | None = None
    run_type: str | None = None
    status: str | None = None
    end_time: datetime | None = None
    error: str | None = None
    extra: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    inputs: Any = None
    outputs: Any = None
    trace_id: str | None = None
    parent_run_id: str | None = None
    parent_run_ids: list[str] | None = None
    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_cost: Any = None


class _Root(msgspec.Struct):
    id: str = ""
    trace_id: str | None = None


class _PageV2(msgspec.Struct):
    items: list[dict[str, Any]] | None
    next_cursor: str | None = None


class _PageV1(msgspec.Struct):
    runs: list[dict[str, Any]]
    cursors: dict[str, str | None] | None = None


class _Session(msgspec.Struct):
    id: str


class LangsmithSource:
    """``project``: the name or id of the one that is searched, needed where ``tagged`` and by v2."""

    def __init__(
        self,
        platform: Platform,
        names: Names,
        project: str | None,
        *,
        tagged: bool,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._platform = platform
        site = platform.endpoint.removesuffix("/v1").removesuffix("/api")
        self._v2_platform = platform.at(site)
        self._names = names
        self._project = project
        self._tagged = tagged
        self._now = now

    async def fetch(self, run_id: str) -> list[Event]:
        session = await self._session(self._project) if self._project is not None else None
        if self._tagged and session is not None:
            traces = await self._search(run_id, session)
        else:
            trace = trace_id(run_id)
            traces = [str(uuid.UUID(trace)) if _HEX.fullmatch(trace) else trace]
        found = [run for trace in traces for run in await self._of_trace(trace, session)]
        known = {run.id for run in found}
        return events([_span(run, known) for run in found], self._names)

    async def _session(self, project: str) -> str:
        """A project's id: the API calls projects sessions."""
        try:
            return str(uuid.UUID(project))
        except ValueError:
            reply = await self._platform.get("/sessions", {"limit": 1, "name": project})
        sessions = reply.read(list[_Session])
        if not sessions:
            raise CollectError(f"{reply.asked}: there is no project {project!r}")
        return sessions[0].id

    async def _search(self, run_id: str, session: str) -> list[str]:
        value = run_id.replace("\\", "\\\\").replace('"', '\\"')
        wanted = f'and(eq(metadata_key, "{RUN_KEY}"), eq(metadata_value, "{value}"))'
        roots = {"is_root": True, "filter": wanted}
        found = await self._v2({**roots, "project_ids": [session], "selects": ["ID", "TRACE_ID"]})
        if found is None:
            found = await self._v1({**roots, "session": [session], "select": ["id", "trace_id"]})
        read = [_read(root, _Root) for root in found]
        return list(dict.fromkeys(root.trace_id or root.id for root in read))

    async def _of_trace(self, trace: str, session: str | None) -> list[_Run]:
        found = None
        if session is not None:
            selects = [name.upper() for name in (*_SELECT, "metadata", "parent_run_ids")]
            found = await self._v2({"project_ids": [session], "trace_id": trace, "selects": selects})
        if found is None:
            found = await self._v1({"trace": trace, "select": [*_SELECT, "parent_run_id"]})
        return [_read(run, _Run) for run in found]

    async def _v2(self, query: dict[str, Any]) -> list[dict[str, Any]] | None:
        """None where the server has no such API."""
        absent = False
        since = (self._now() - _BACK).strftime("%Y-%m-%dT%H:%M:%SZ")

        async def page(cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
            nonlocal absent
            body = {**query, "page_size": PAGE_V2, "min_start_time": since, **_cursor(cursor)}
            reply = await self._v2_platform.post("/api/v2/runs/query", body, taken=GONE)
            if reply.status in GONE:
                absent = True
                return [], None
            found = reply.read(_PageV2)
            return found.items or [], found.next_cursor

        runs = await every_page(page)
        return None if absent else runs

    async def _v1(self, query: dict[str, Any]) -> list[dict[str, Any]]:
        async def page(cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
            body = {**query, "limit": PAGE_V1, **_cursor(cursor)}
            reply = await self._platform.post("/runs/query", body, taken=(404,))
            return ([], None) if reply.status == 404 else _v1_page(reply)

        return await every_page(page)


def _cursor(cursor: str | None) -> dict[str, str]:
    return {} if cursor is None else {"cursor": cursor}


def _v1_page(reply: Answer) -> tuple[list[dict[str, Any]], str | None]:
    found = reply.read(_PageV1)
    return found.runs, (found.cursors or {}).get("next")


def _read(run: dict[str, Any], shape: Any) -> Any:
    try:
        return msgspec.convert(run, shape, strict=False)
    except msgspec.ValidationError as error:
        raise CollectError(f"LangSmith: a run is not as expected: {error}") from None


def _span(run: _Run, known: Collection[str]) -> Span:
    kind = (run.run_type or "").lower()
    parent = run.parent_run_id or (run.parent_run_ids[-1] if run.parent_run_ids else "")
    own: dict[str, Any] = {"openinference.span.kind": kind}
    metadata = {**_metadata(run.extra), **(run.metadata or {})}
    # Runs around others carry the sums of what is in them.
    if kind == "llm":
        own |= {
            "gen_ai.request.model": metadata.get("ls_model_name") or run.name,
            "gen_ai.usage.input_tokens": run.prompt_tokens,
            "gen_ai.usage.output_tokens": run.completion_tokens,
            "evaltower.cost.usd": run.total_cost,
        }
    elif kind == "tool":
        own |= {"tool.args": run.inputs, "tool.output": run.outputs}
    elif parent not in known:  # the answer is what the whole gave
        own["message.content"] = run.outputs or None
    return Span(
        id=run.id,
        trace_id=run.trace_id or "",
        parent=parent,
        name=run.name or "",
        start_ns=nanoseconds(run.start_time),
        end_ns=None if run.end_time is None else nanoseconds(run.end_time),
        attributes={**metadata, **{name: value for name, value in own.items() if value is not None}},
        failed=bool(run.error) or (run.status or "").lower() == "error",
        status=run.error or "",
    )


def _metadata(extra: dict[str, Any] | None) -> dict[str, Any]:
    found = (extra or {}).get("metadata")
    return found if isinstance(found, dict) else {}
