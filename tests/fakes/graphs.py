"""Saved graphs for tests, as a user would have drawn them."""

from __future__ import annotations

from typing import Any


def env_graph(
    env: str, *, carried: tuple[str, ...] = ("obs",), step_budget: int | None = None
) -> dict[str, Any]:
    """reset → loop of ``<env>__step_discrete`` → evaluate → metrics; ``carried``: what the loop hands on."""
    ports = [{"name": n, "wire_type": "ANY", "persist": True, "required": True} for n in carried]
    nodes = [
        {"id": "reset", "type": f"{env}__reset", "label": "Reset", "config": {}},
        {
            "id": "loop_in",
            "type": "iterIn",
            "config": {
                "version": 3,
                "pairedWith": "loop_out",
                "initPorts": [dict(p, persist=False) for p in ports],
            },
        },
        {"id": "step", "type": f"{env}__step_discrete", "label": "Step", "config": {}},
        {"id": "loop_out", "type": "iterOut", "config": {"pairedWith": "loop_in", "ports": ports}},
        {"id": "evaluate", "type": f"{env}__evaluate", "label": "Evaluate", "config": {}},
        {"id": "metrics", "type": "graphOut", "config": {"portName": "metrics", "wireType": "METRICS"}},
    ]
    edges: list[dict[str, Any]] = []

    def wire(source: str, handle: str, target: str, target_handle: str) -> None:
        edges.append(
            {
                "id": f"e{len(edges)}",
                "source": source,
                "sourceHandle": handle,
                "target": target,
                "targetHandle": target_handle,
            }
        )

    for name in carried:
        wire("reset", name, "loop_in", f"init_{name}")
        wire("loop_in", f"init_{name}", "step", name)
        wire("loop_in", f"iterout_{name}", "step", name)
        wire("step", name, "loop_out", name)
    wire("step", "terminated", "loop_out", "stop")
    wire("loop_out", "final_stop", "evaluate", "trigger")
    wire("evaluate", "metrics", "metrics", "value")
    return {"name": f"{env}_walk", "nodes": nodes, "edges": edges, "step_budget": step_budget}
