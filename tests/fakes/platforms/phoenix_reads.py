"""The read side of an Arize Phoenix, as 20.26 answers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.platforms.double import Double, answer, page_of


@dataclass
class PhoenixDouble(Double):
    """``knows_attribute``: a search by attribute; without it the parameter is passed over in silence."""

    projects: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    knows_attribute: bool = True
    page: int = 1000

    def routes(self) -> Iterable[web.RouteDef]:
        return (
            web.get("/v1/projects", self._projects),
            web.get("/v1/projects/{project}/spans", self._spans),
        )

    async def _projects(self, request: web.Request) -> web.Response:
        return answer(200, {"data": [{"name": name} for name in self.projects], "next_cursor": None})

    async def _spans(self, request: web.Request) -> web.Response:
        found = self.projects.get(request.match_info["project"])
        if found is None:
            return answer(404, "Project not found")
        query = request.query
        if traces := query.getall("trace_id", []):
            found = [span for span in found if span["context"]["trace_id"] in traces]
        if self.knows_attribute and "attribute" in query:
            key, _, value = query["attribute"].partition(":")
            found = [span for span in found if _flat(span["attributes"]).get(key) == _typed(value)]
        data, cursor = page_of(found, query.get("cursor"), min(self.page, int(query["limit"])))
        return answer(200, {"data": data, "next_cursor": cursor})


def _typed(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _flat(attributes: dict[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in attributes.items():
        flat |= _flat(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
    return flat
