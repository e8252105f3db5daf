"""Logs for tests, as the firing log writes them and as others do."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def line(step: int, node: str, **more: Any) -> dict[str, Any]:
    fields = {
        "timestamp": "2026-05-18T12:00:00.000000+00:00",
        "execution_id": "e",
        "source": "eval",
        "step": step,
        "node_id": node,
        "node_type": f"env_x__{node}",
        "node_label": node.title(),
        "duration_ms": 1.5,
        "queue_wait_ms": 0.25,
        "compute_ms": 1.0,
        "transport_ms": 0.25,
        "transfer_bytes": 12,
        "inputs": {"text": "go to the red door"},
        "outputs": {"action": step},
        "output_digests": {},
        "inner_log": [],
        "port_wire_types": {},
        "error": None,
        "parent_node_id": None,
        "dynamic_index": None,
    }
    return fields | more


def encode(fields: dict[str, Any], *, spaced: bool = False) -> bytes:
    separators = (", ", ": ") if spaced else (",", ":")
    return json.dumps(fields, separators=separators, ensure_ascii=spaced).encode("utf-8", "replace") + b"\n"


def write_log(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(encode(fields) for fields in lines))
    return path
