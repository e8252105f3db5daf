"""The read side of a Langfuse: the v2 observations of today, and a trace with its observations of before."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.platforms.double import Double, answer, page_of


@dataclass
class LangfuseDouble(Double):
    """``v2``: whether it has the observations API. ``page``: observations in one answer."""

    v2: bool = True
    observations: list[dict[str, Any]] = field(default_factory=list)
    page: int = 1000

    def routes(self) -> Iterable[web.RouteDef]:
        return (
            web.get("/api/public/v2/observations", self._v2),
            web.get("/api/public/traces/{id}", self._trace),
            web.get("/api/public/projects", self._projects),
        )

    async def _v2(self, request: web.Request) -> web.Response:
        if not self.v2:
            return answer(404, "<html>This page could not be found</html>")
        query = request.query
        wanted = json.loads(query["filter"]) if "filter" in query else []
        found = [
            seen
            for seen in self.observations
            if (wanted or seen["traceId"] == query["traceId"])
            and all(_holds(seen, condition) for condition in wanted)
        ]
        data, cursor = page_of(found, query.get("cursor"), min(self.page, int(query["limit"])))
        return answer(200, {"data": data, "meta": {"cursor": cursor} if cursor else {}})

    async def _trace(self, request: web.Request) -> web.Response:
        found = [seen for seen in self.observations if seen["traceId"] == request.match_info["id"]]
        if not found:
            return answer(404, {"error": "LangfuseNotFoundError", "message": "Trace not found"})
        return answer(200, {"id": request.match_info["id"], "observations": found})

    async def _projects(self, request: web.Request) -> web.Response:
        return answer(200, {"data": []})


def _holds(seen: dict[str, Any], condition: dict[str, str]) -> bool:
    assert condition["operator"] == "="
    if condition["column"] == "sessionId":
        return bool(condition["type"] == "string" and seen.get("sessionId") == condition["value"])
    assert (condition["type"], condition["column"]) == ("stringObject", "metadata")
    return bool(_flat(seen.get("metadata", {})).get(condition["key"]) == condition["value"])


def _flat(metadata: dict[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in metadata.items():
        flat |= _flat(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
    return flat
