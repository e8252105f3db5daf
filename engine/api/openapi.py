"""The OpenAPI document, made from the endpoints and their msgspec types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from engine.api.answers import Failure
from engine.api.endpoint import Endpoint

_REF = "#/components/schemas/{name}"
_STATUSES = {
    400: "What was asked is wrong; every reason, where there are several.",
    401: "Without the token.",
    403: "From a web page, or under a foreign host name.",
    404: "There is no such thing.",
    409: "Not as things stand now.",
    413: "The body is too large.",
    503: "The backend is ending, or its disk is full.",
}
_EVERYWHERE = (400, 401, 403, 413, 503)


def document(sections: Mapping[str, Sequence[Endpoint]], version: str) -> dict[str, Any]:
    """OpenAPI 3.1 of these endpoints; a section is a tag."""
    endpoints = [endpoint for section in sections.values() for endpoint in section]
    kinds = [kind for one in endpoints for kind in (one.answer, one.body, one.query) if kind is not None]
    schemas, components = msgspec.json.schema_components([Failure, *kinds], ref_template=_REF)
    schema_of = dict(zip(map(repr, [Failure, *kinds]), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for tag, section in sections.items():
        for endpoint in section:
            operation = _operation(endpoint, schema_of, components)
            paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = {"tags": [tag], **operation}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Evaltower", "version": version},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(
    endpoint: Endpoint, schema_of: Mapping[str, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    operation: dict[str, Any] = {"summary": endpoint.summary}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"\{(\w+)\}", endpoint.path)
    ]
    if endpoint.query is not None:
        parameters += _query(components[endpoint.query.__name__])
    if parameters:
        operation["parameters"] = parameters
    if endpoint.body is not None:
        body = schema_of[repr(endpoint.body)]
        needed = bool(components[endpoint.body.__name__].get("required"))
        operation["requestBody"] = {"required": needed, "content": {"application/json": {"schema": body}}}
    good: dict[str, Any] = {}
    if endpoint.answer is not None:
        good = {"schema": schema_of[repr(endpoint.answer)]}
    failure = {"application/json": {"schema": schema_of[repr(Failure)]}}
    operation["responses"] = {
        "200": {"description": endpoint.summary, "content": {endpoint.media: good}},
        **{
            str(status): {"description": _STATUSES[status], "content": failure}
            for status in sorted({*_EVERYWHERE, *endpoint.errors})
        },
    }
    return operation


def _query(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": field}
        for name, field in schema["properties"].items()
    ]
