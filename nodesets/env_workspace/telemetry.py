"""What ties a harness's own trace to its episode."""

from __future__ import annotations

from hashlib import blake2b
from typing import Mapping
from urllib.parse import quote

TRACE_KINDS = ("none", "otel", "mlflow", "langfuse", "langsmith", "phoenix", "file")

_KEY = "evaltower.run_id"
_RESOURCE = "OTEL_RESOURCE_ATTRIBUTES"


def trace_id(run_id: str) -> str:
    """32 hex digits, from an episode's correlation id as in :func:`engine.scoring.correlation.trace_id`."""
    return blake2b(run_id.encode(), digest_size=16).hexdigest()


def traceparent(run_id: str) -> str:
    """W3C Trace Context, version 00, sampled: the harness's spans become children of the episode's."""
    parent = blake2b(run_id.encode(), digest_size=8).hexdigest()
    return f"00-{trace_id(run_id)}-{parent}-01"


def variables(run_id: str, traced: bool, inherited: Mapping[str, str]) -> dict[str, str]:
    """The environment variables by which a harness knows its episode."""
    known = {"EVALTOWER_RUN_ID": run_id, "TRACEPARENT": traceparent(run_id)}
    if traced:
        attributes = inherited.get(_RESOURCE, "").split(",")
        others = [pair for pair in attributes if pair.strip() and pair.split("=")[0].strip() != _KEY]
        known[_RESOURCE] = ",".join([*others, f"{_KEY}={quote(run_id, safe='/')}"])
    return known
