"""The read side of LangSmith: runs by v2, and by v1, which goes away."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.platforms.double import Double, answer, page_of

FILTER = re.compile(r'and\(eq\(metadata_key, "([^"]*)"\), eq\(metadata_value, "([^"]*)"\)\)')


@dataclass
class LangsmithDouble(Double):
    """``runs``: as v1 has them. ``sessions``: ids of projects by name. ``root``: before the paths of v1."""

    v1: bool = True
    v2: bool = True
    runs: list[dict[str, Any]] = field(default_factory=list)
    sessions: dict[str, str] = field(default_factory=dict)
    page: int = 100
    root: str = ""

    def routes(self) -> Iterable[web.RouteDef]:
        return (
            web.post(f"{self.root}/runs/query", self._v1),
            web.post("/api/v2/runs/query", self._v2),
            web.get(f"{self.root}/sessions", self._sessions),
        )

    async def _v1(self, request: web.Request) -> web.Response:
        if not self.v1:
            return answer(410, {"detail": "this API was removed"})
        body = await request.json()
        found = self._found(body, body.get("trace"), body.get("session"))
        if "trace" in body and not found:
            return answer(404, {"detail": "Trace not found"})
        runs, cursor = page_of(found, body.get("cursor"), min(self.page, body["limit"]))
        picked = [{name: run.get(name) for name in body["select"]} for run in runs]
        return answer(200, {"runs": picked, "cursors": {"next": cursor}})

    async def _v2(self, request: web.Request) -> web.Response:
        if not self.v2:
            return answer(404, {"detail": "Not Found"})
        body = await request.json()
        if not body.get("project_ids"):
            return answer(422, {"detail": "project_ids is required"})
        found = self._found(body, body.get("trace_id"), body["project_ids"])
        runs, cursor = page_of(found, body.get("cursor"), min(self.page, body["page_size"]))
        picked = [{name.lower(): _as_v2(run).get(name.lower()) for name in body["selects"]} for run in runs]
        return answer(200, {"items": picked, "next_cursor": cursor})

    async def _sessions(self, request: web.Request) -> web.Response:
        name = request.query.get("name")
        found = [{"id": key, "name": known} for known, key in self.sessions.items() if name in (None, known)]
        return answer(200, found)

    def _found(
        self, body: dict[str, Any], trace: str | None, sessions: list[str] | None
    ) -> list[dict[str, Any]]:
        match = FILTER.fullmatch(body["filter"]) if "filter" in body else None
        return [
            run
            for run in self.runs
            if (trace is None or run["trace_id"] == trace)
            and (sessions is None or run["session_id"] in sessions)
            and (not body.get("is_root") or not run.get("parent_run_id"))
            and (match is None or run["extra"]["metadata"].get(match[1]) == match[2])
        ]


def _as_v2(run: dict[str, Any]) -> dict[str, Any]:
    """Names of kinds are upper case, parents a path from the root, and costs numbers."""
    parent = run.get("parent_run_id")
    cost = run.get("total_cost")
    return {
        **run,
        "run_type": run["run_type"].upper(),
        "parent_run_ids": [run["trace_id"], parent] if parent else [],
        "total_cost": None if cost is None else float(cost),
        "metadata": run["extra"]["metadata"],
    }
