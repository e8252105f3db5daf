"""The routes of saved graphs."""

from __future__ import annotations

from typing import Any

from engine.api import names
from engine.api.answers import Validation
from engine.api.endpoint import Call
from engine.control.queue_reports import GraphEntry, IntrospectReport
from engine.control.reports import CheckReport, Sources


def listed(call: Call) -> list[GraphEntry]:
    return call.control.graphs(call.query.sources)


def saved(call: Call) -> dict[str, Any]:
    return call.control.graph(names.saved_graph(call.path["name"]))


def validate(call: Call) -> Validation:
    asked = call.body
    sources = Sources(
        workspaces=asked.workspaces, active_workspace_dir=asked.active_workspace_dir, servers=asked.servers
    )
    report = call.control.validate(asked.graph, sources)
    fields = {name: getattr(report, name) for name in CheckReport.__struct_fields__}
    return Validation(**fields, ok=report.ok)


def introspect(call: Call) -> IntrospectReport:
    return call.control.introspect(names.saved_graph(call.body.graph_name), call.body.sources)
