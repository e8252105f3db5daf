"""A Jaeger-shaped double: OTLP/HTTP in, both query APIs out, Jaeger's codes for what it does not have."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.platforms.double import Double, answer

Stored = tuple[list[Any], dict[str, Any]]
"""The attributes of a span's resource, and the span."""

PAGE = "<!doctype html><title>Jaeger UI</title>"


@dataclass
class JaegerDouble(Double):
    """``v3``, ``legacy``: the query APIs it has. ``heeds_attributes``: v3 does so since 2.19.
    ``serves_page``: what it has no route for is answered by its web page."""

    v3: bool = True
    legacy: bool = True
    heeds_attributes: bool = True
    serves_page: bool = False
    stored: list[Stored] = field(default_factory=list)

    def routes(self) -> Iterable[web.RouteDef]:
        return (
            web.post("/v1/traces", self._take),
            web.get("/api/v3/traces", self._v3_search),
            web.get("/api/v3/traces/{id}", self._v3_trace),
            web.get("/api/traces", self._legacy_search),
            web.get("/api/traces/{id}", self._legacy_trace),
            web.get("/api/services", self._services),
        )

    def put(self, resource_spans: list[dict[str, Any]]) -> None:
        for entry in resource_spans:
            attributes = entry.get("resource", {}).get("attributes", [])
            self.stored += [
                (attributes, span) for scope in entry["scopeSpans"] for span in scope.get("spans", [])
            ]

    async def _take(self, request: web.Request) -> web.Response:
        data = await request.read()
        self.put(json.loads(data)["resourceSpans"] if "json" in request.content_type else _protobuf(data))
        return web.json_response({})

    async def _v3_search(self, request: web.Request) -> web.Response:
        if not self.v3:
            return self._no_route()
        query = request.query
        if not query.get("query.startTimeMin") or not query.get("query.startTimeMax"):
            return _v3_error(400, "malformed parameter query.startTimeMin")
        wanted = json.loads(query.get("query.attributes", "{}")) if self.heeds_attributes else {}
        ids = self._found(query["query.serviceName"], wanted)[: int(query["query.searchDepth"])]
        return self._v3_answer(ids)

    async def _v3_trace(self, request: web.Request) -> web.Response:
        return self._v3_answer([request.match_info["id"]]) if self.v3 else self._no_route()

    def _v3_answer(self, ids: list[str]) -> web.Response:
        found = [stored for trace in ids for stored in self._trace(trace)]
        if not found:
            return _v3_error(404, "No traces found")
        entries = [
            {"resource": {"attributes": resource}, "scopeSpans": [{"scope": {}, "spans": [span]}]}
            for resource, span in found
        ]
        return web.json_response({"result": {"resourceSpans": entries}})

    async def _legacy_search(self, request: web.Request) -> web.Response:
        if not self.legacy:
            return self._no_route()
        if not request.query.get("service"):
            return _legacy_error(400, "parameter 'service' is required")
        ids = self._found(request.query["service"], json.loads(request.query.get("tags", "{}")))
        return _legacy_answer([self._trace(trace) for trace in ids[: int(request.query["limit"])]])

    async def _legacy_trace(self, request: web.Request) -> web.Response:
        found = self._trace(request.match_info["id"])
        return _legacy_answer([found]) if found else _legacy_error(404, "trace not found")

    async def _services(self, request: web.Request) -> web.Response:
        return web.json_response({"data": []}) if self.legacy else self._no_route()

    def _no_route(self) -> web.Response:
        return answer(200, PAGE) if self.serves_page else answer(404, "404 page not found\n")

    def _found(self, service: str, wanted: dict[str, str]) -> list[str]:
        found = []
        for resource, span in self.stored:
            process, own = _plain(resource), _plain(span.get("attributes", []))
            tags = {**process, **own}
            if process.get("service.name") == service and all(
                tags.get(name) == value for name, value in wanted.items()
            ):
                found.append(span["traceId"])
        return list(dict.fromkeys(found))

    def _trace(self, trace: str) -> list[Stored]:
        return [stored for stored in self.stored if stored[1]["traceId"] == trace]


def _v3_error(status: int, message: str) -> web.Response:
    """JSON, which Jaeger sends as plain text."""
    return answer(status, json.dumps({"error": {"httpCode": status, "message": message}}))


def _legacy_error(status: int, message: str) -> web.Response:
    return answer(status, {"data": None, "errors": [{"code": status, "msg": message}]})


def _legacy_answer(traces: list[list[Stored]]) -> web.Response:
    return answer(200, {"data": [_legacy_trace(trace) for trace in traces], "errors": None})


def _legacy_trace(trace: list[Stored]) -> dict[str, Any]:
    processes: dict[str, Any] = {}
    spans = []
    for place, (resource, span) in enumerate(trace, start=1):
        own = dict(_plain(resource))
        processes[f"p{place}"] = {"serviceName": own.pop("service.name", ""), "tags": _tags(own)}
        spans.append(_legacy_span(span, f"p{place}"))
    return {"traceID": trace[0][1]["traceId"], "spans": spans, "processes": processes}


def _legacy_span(span: dict[str, Any], process: str) -> dict[str, Any]:
    tags = _plain(span.get("attributes", []))
    status = span.get("status", {})
    if status.get("code") in (2, "STATUS_CODE_ERROR"):
        tags |= {"otel.status_code": "ERROR", "error": True}
        tags |= {"otel.status_description": status["message"]} if status.get("message") else {}
    parent = span.get("parentSpanId")
    link = {"refType": "CHILD_OF", "traceID": span["traceId"], "spanID": parent}
    start = int(span["startTimeUnixNano"]) // 1000
    return {
        "traceID": span["traceId"],
        "spanID": span["spanId"],
        "operationName": span["name"],
        "references": [link] if parent else [],
        "startTime": start,
        "duration": int(span["endTimeUnixNano"]) // 1000 - start,
        "tags": _tags(tags),
        "logs": [],
        "processID": process,
        "warnings": None,
    }


def _tags(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "type": "string", "value": value} for key, value in values.items()]


def _plain(attributes: list[Any]) -> dict[str, Any]:
    plain = {}
    for attribute in attributes:
        [(kind, value)] = attribute["value"].items()
        plain[attribute["key"]] = int(value) if kind == "intValue" else value
    return plain


def _protobuf(data: bytes) -> list[dict[str, Any]]:
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = MessageToDict(ExportTraceServiceRequest.FromString(data))
    for entry in request["resourceSpans"]:
        for scope in entry["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = b64decode(span[name]).hex()
    found: list[dict[str, Any]] = request["resourceSpans"]
    return found
