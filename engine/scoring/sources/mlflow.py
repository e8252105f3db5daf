"""Traces of an MLflow tracking server."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from engine.scoring.attributes import Names
from engine.scoring.correlation import RUN_KEY, trace_id
from engine.scoring.errors import CollectError
from engine.scoring.platform import Platform
from engine.scoring.sources.otlp import spans_of_list
from engine.scoring.sources.pages import every_page
from engine.scoring.spans import Event, Span, events

PAGE = 100

_HEX = re.compile("[0-9a-f]{32}")
_NOT_YET = b"Trace data not stored"


class _Info(msgspec.Struct):
    trace_id: str


class _Found(msgspec.Struct):
    """A miss is ``{}``."""

    traces: list[_Info] = []
    next_page_token: str | None = None


class _Trace(msgspec.Struct):
    spans: list[Any] = []


class _Got(msgspec.Struct):
    trace: _Trace


class _Experiment(msgspec.Struct):
    experiment_id: str


class _Named(msgspec.Struct):
    experiment: _Experiment


class MlflowSource:
    """``experiment``: the id or name of the one that is searched; without one, traces are found by id."""

    def __init__(self, platform: Platform, names: Names, experiment: str | None) -> None:
        self._platform = platform
        self._names = names
        self._experiment = experiment

    async def fetch(self, run_id: str) -> list[Event]:
        if self._experiment is None:
            trace = trace_id(run_id)
            # What came in by OTLP has MLflow's prefix before its own id.
            found = [f"tr-{trace}" if _HEX.fullmatch(trace) else trace]
        else:
            found = await self._tagged(run_id, await self._experiment_id(self._experiment))
        return events([span for trace in found for span in await self._spans(trace)], self._names)

    async def _experiment_id(self, experiment: str) -> str:
        if experiment.isdecimal():
            return experiment
        path, query = "/api/2.0/mlflow/experiments/get-by-name", {"experiment_name": experiment}
        reply = await self._platform.get(path, query, taken=(404,))
        if reply.status == 404:
            raise CollectError(f"{reply.asked}: there is no experiment {experiment!r}", reply.status)
        return reply.read(_Named).experiment.experiment_id

    async def _tagged(self, run_id: str, experiment_id: str) -> list[str]:
        """Tags hold what OTLP brought since 3.14; metadata what MLflow's own SDK was told."""
        for place in ("tags", "request_metadata"):
            wanted = f"{place}.`{RUN_KEY}` = '{run_id.replace(chr(39), chr(39) * 2)}'"
            if found := await self._search(wanted, experiment_id):
                return found
        return []

    async def _search(self, wanted: str, experiment_id: str) -> list[str]:
        where = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment_id}}

        async def page(cursor: str | None) -> tuple[list[str], str | None]:
            body = {"locations": [where], "filter": wanted, "max_results": PAGE}
            if cursor is not None:
                body["page_token"] = cursor
            found = (await self._platform.post("/api/3.0/mlflow/traces/search", body)).read(_Found)
            return [info.trace_id for info in found.traces], found.next_page_token

        return await every_page(page)

    async def _spans(self, trace: str) -> list[Span]:
        query = {"trace_id": trace}
        reply = await self._platform.get("/api/3.0/mlflow/traces/get", query, taken=(404, 500))
        if reply.status == 404 or (reply.status == 500 and _NOT_YET in reply.body):
            return []
        if reply.status == 500:
            raise reply.error
        found = spans_of_list(reply.read(_Got).trace.spans, reply.asked)
        return [msgspec.structs.replace(span, trace_id=trace) for span in found]
