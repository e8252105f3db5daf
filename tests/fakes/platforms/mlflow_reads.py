"""The read side of an MLflow tracking server, as 3.17 answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.platforms.double import Double, answer, page_of

FILTER = re.compile(r"(tags|request_metadata)\.`([^`]+)` = '((?:[^']|'')*)'")


@dataclass
class MlflowTrace:
    """``spans``: None where they are not stored yet."""

    trace_id: str
    experiment_id: str = "1"
    tags: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    spans: list[dict[str, Any]] | None = field(default_factory=list)

    @property
    def info(self) -> dict[str, Any]:
        where = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": self.experiment_id}}
        return {
            "trace_id": self.trace_id,
            "trace_location": where,
            "tags": self.tags,
            "trace_metadata": self.metadata,
        }


@dataclass
class MlflowDouble(Double):
    """``experiments``: their ids by name. ``page``: traces in one answer, whatever is asked for."""

    traces: list[MlflowTrace] = field(default_factory=list)
    experiments: dict[str, str] = field(default_factory=dict)
    page: int = 100

    def routes(self) -> Iterable[web.RouteDef]:
        return (
            web.get("/api/3.0/mlflow/traces/get", self._get),
            web.post("/api/3.0/mlflow/traces/search", self._search),
            web.get("/api/2.0/mlflow/experiments/get-by-name", self._experiment),
            web.post("/api/2.0/mlflow/experiments/search", self._experiments),
        )

    async def _get(self, request: web.Request) -> web.Response:
        wanted = request.query["trace_id"]
        found = next((trace for trace in self.traces if trace.trace_id == wanted), None)
        if found is None:
            return _error(404, "RESOURCE_DOES_NOT_EXIST", f"Trace with ID '{wanted}' not found.")
        if found.spans is None:
            return _error(500, "INTERNAL_ERROR", f"Trace data not stored for trace {wanted}")
        return answer(200, {"trace": {"trace_info": found.info, "spans": found.spans}})

    async def _search(self, request: web.Request) -> web.Response:
        body = await request.json()
        match = FILTER.fullmatch(body["filter"])
        if match is None:
            return _error(400, "INVALID_PARAMETER_VALUE", "Invalid clause(s) in filter string")
        place, key, value = match[1], match[2], match[3].replace("''", "'")
        [where] = body["locations"]
        experiment = where["mlflow_experiment"]["experiment_id"]
        found = [
            trace.info
            for trace in self.traces
            if trace.experiment_id == experiment
            and (trace.tags if place == "tags" else trace.metadata).get(key) == value
        ]
        traces, cursor = page_of(found, body.get("page_token"), self.page)
        token = {"next_page_token": cursor} if cursor else {}
        return answer(200, {"traces": traces, **token} if traces else {})

    async def _experiment(self, request: web.Request) -> web.Response:
        name = request.query["experiment_name"]
        if name not in self.experiments:
            return _error(404, "RESOURCE_DOES_NOT_EXIST", f"Could not find experiment with name '{name}'")
        return answer(200, {"experiment": {"experiment_id": self.experiments[name], "name": name}})

    async def _experiments(self, request: web.Request) -> web.Response:
        return answer(200, {"experiments": []})


def _error(status: int, code: str, message: str) -> web.Response:
    return answer(status, {"error_code": code, "message": message})
