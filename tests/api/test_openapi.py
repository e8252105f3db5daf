"""The OpenAPI document, its page, and what schemathesis makes of them."""

from __future__ import annotations

import re
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.client import EVAL, Client
from tests.api.conftest import Server

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
KNOWN = {"run_id": "last", "index": "0", "name": "0_reset_rgb.png"}
"""A run, an episode and an asset that are there."""


@pytest.fixture(scope="module")
def played(shared: Server) -> Server:
    """A server with a finished run, one that waits, and a pause, so that nothing runs for long."""
    client = shared.client()
    client.wait_until(client.start("gridhouse_expert", episode_count=2, label="done"))
    client.wait_until_idle()
    client.post(f"{EVAL}/queue/pause")
    client.start("toy", episode_count=1)
    return shared


@pytest.fixture(scope="module")
def described(played: Server) -> Any:
    return schemathesis.openapi.from_url(f"{played.url}/openapi.json", wait_for_schema=10)


# Left out are those that end the server, or let it start what the others queue.
schema = schemathesis.pytest.from_fixture("described").exclude(
    path=["/api/system/backend/stop", f"{EVAL}/queue/resume"]
)


@pytest.mark.slow
@schema.parametrize()
@settings(
    max_examples=8,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_described(case: Any) -> None:
    case.call_and_validate(checks=CHECKS)


@pytest.mark.slow
@pytest.mark.parametrize("run", ["done", "last", "nothing"])
def test_answers_about_what_is_there_are_as_described(described: Any, run: str) -> None:
    checked = 0
    for result in described.get_all_operations():
        operation = result.ok()
        if operation.method.upper() != "GET":
            continue
        names = re.findall(r"\{(\w+)\}", operation.path)
        known = {**KNOWN, "run_id": run}
        if operation.path == "/api/graphs/{name}":
            known["name"] = "gridhouse_expert"
        query = {"graph_name": "gridhouse_expert"} if operation.path.endswith("/estimate") else {}
        query |= {"runs": "done,done"} if operation.path.endswith("/compare") else {}
        if operation.path.endswith("/events") and run == "last":
            continue  # it waits, and its events never end
        case = operation.Case(path_parameters={name: known[name] for name in names}, query=query)
        case.call_and_validate(checks=CHECKS)
        checked += 1
    assert checked > 15


def test_the_documents_need_nobody_else(client: Client) -> None:
    page = client.http.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "<script" not in page.text
    assert re.findall(r'(?:src|href)="([^"]*)"', page.text) == ["/openapi.json"]
    document = client.get("/openapi.json")
    for path in document["paths"]:
        assert path in page.text


def test_every_route_of_the_contract_is_there(client: Client) -> None:
    paths = client.get("/openapi.json")["paths"]
    found = {f"{method.upper()} {path}" for path, operations in paths.items() for method in operations}
    run = f"{EVAL}/runs/{{run_id}}"
    assert found >= {
        f"POST {EVAL}/start", f"GET {EVAL}/queue", f"GET {EVAL}/status", f"GET {EVAL}/episodes",
        f"GET {EVAL}/runs", f"GET {run}", f"GET {run}/episodes/{{index}}",
        f"GET {run}/episodes/{{index}}/log",
        f"GET {run}/episodes/{{index}}/assets/{{name}}", f"GET {run}/events", f"POST {run}/cancel",
        f"POST {run}/resume", f"POST {run}/rescore", f"POST {EVAL}/stop", f"DELETE {run}",
        f"GET {EVAL}/estimate",
        f"POST {EVAL}/introspect", f"GET {EVAL}/export/{{run_id}}", f"POST {EVAL}/queue/pause",
        f"POST {EVAL}/queue/resume", f"POST {run}/move", f"POST {run}/priority", f"POST {EVAL}/play",
        f"POST {EVAL}/play/{{run_id}}/step", f"POST {EVAL}/play/{{run_id}}/run",
        f"POST {EVAL}/play/{{run_id}}/stop", "GET /api/graphs", "GET /api/graphs/{name}",
        "POST /api/graphs/validate", "GET /api/components/nodesets",
        "POST /api/components/nodesets/{name}/load", "POST /api/components/nodesets/{name}/unload",
        "GET /api/system/resources", "GET /api/health", f"GET {EVAL}/compare",
    }  # fmt: skip
