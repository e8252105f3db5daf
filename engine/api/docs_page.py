"""``/docs``: the OpenAPI document for people, in one page that asks for nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1d2530; background: #fff; }
h2 { margin-top: 2.5rem; } code, pre { font: 13px/1.45 ui-monospace, monospace; }
details { border-top: 1px solid #d8dee6; padding: .4rem 0; } summary { cursor: pointer; }
.verb { display: inline-block; width: 4.5rem; font-weight: 700; } .what { color: #5a6675; }
pre { background: #f4f6f9; padding: .75rem; overflow-x: auto; } table { border-collapse: collapse; }
td { padding: .15rem 1rem .15rem 0; vertical-align: top; }
@media (prefers-color-scheme: dark) { body { color: #d9e0e8; background: #14181d; }
  details { border-color: #303842; } pre { background: #1d232a; } .what { color: #93a0ae; } }
"""


def page(document: Mapping[str, Any]) -> str:
    """The page of an OpenAPI document."""
    sections: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            sections.setdefault(operation["tags"][0], []).append(_route(path, method, operation))
    schemas = document["components"]["schemas"]
    types = "".join(_details(name, schemas[name]) for name in sorted(schemas))
    routes = "".join(f"<h2>{escape(tag)}</h2>{''.join(found)}" for tag, found in sections.items())
    title = f"{document['info']['title']} {document['info']['version']}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style><h1>{escape(title)}</h1><p>The same for programs: "
        f'<a href="/openapi.json">openapi.json</a>. Every failure is <code>{{"detail": …}}</code>.</p>'
        f"{routes}<h2>Types</h2>{types}</html>"
    )


def _route(path: str, method: str, operation: Mapping[str, Any]) -> str:
    parts = []
    if "parameters" in operation:
        rows = "".join(
            f"<tr><td><code>{escape(one['name'])}</code><td>{escape(one['in'])}"
            f"<td><code>{escape(_short(one['schema']))}</code>"
            for one in operation["parameters"]
        )
        parts.append(f"<table>{rows}</table>")
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        parts.append(f"<p>Takes <code>{escape(_short(body))}</code></p>")
    for media, content in operation["responses"]["200"]["content"].items():
        told = _short(content["schema"]) if content else media
        parts.append(f"<p>Answers <code>{escape(told)}</code></p>")
    failures = ", ".join(status for status in operation["responses"] if status != "200")
    parts.append(f"<p>Else {failures}</p>")
    head = (
        f'<span class="verb">{method.upper()}</span><code>{escape(path)}</code> '
        f'<span class="what">{escape(operation["summary"])}</span>'
    )
    return f"<details><summary>{head}</summary>{''.join(parts)}</details>"


def _short(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if schema.get("type") == "array":
        return f"[{_short(schema.get('items', {}))}]"
    return json.dumps(schema)


def _details(name: str, schema: Mapping[str, Any]) -> str:
    text = escape(json.dumps(schema, indent=2, ensure_ascii=False))
    return f"<details><summary><code>{escape(name)}</code></summary><pre>{text}</pre></details>"
