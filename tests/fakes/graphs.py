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


def gridhouse_llm_graph() -> dict[str, Any]:
    """``env_gridhouse`` walked by a chat model that sees the frame."""
    return llm_graph(
        "env_gridhouse",
        ("rgb",),
        "stop,forward,turn_left,turn_right",
        "index",
        template="{instruction}\nStep {step}: forward, turn_left, turn_right or stop?",
    )


def llm_graph(
    env: str = "env_line",
    seen: tuple[str, ...] = ("observation", "rgb"),
    actions: str = "LEFT,RIGHT,STOP",
    parsed: str = "value",
    **config: Any,
) -> dict[str, Any]:
    """An environment walked by a chat model: instruction and what is seen → llmCall → textParse → step.

    ``parsed``: textParse's output that is the action. ``config``: more of the llmCall's.
    """
    graph = env_graph(env, carried=seen)
    types = {"observation": {"wire_type": "TEXT", "required": True}, "rgb": {"wire_type": "LIST[IMAGE]"}}
    ask = {
        "ports": [
            {"name": "instruction", "wire_type": "TEXT", "required": True},
            *({"name": name, **types[name]} for name in seen),
        ],
        "template": "{instruction}\n{observation}\nStep {step}: LEFT, RIGHT or STOP?",
        "temperature": 1.0,
        **config,
    }
    parse = {"choices": actions, "default": actions.rpartition(",")[2]}
    graph["nodes"] += [
        {"id": "ask", "type": "llmCall", "label": "Ask", "config": ask},
        {"id": "parse", "type": "textParse", "label": "Parse", "config": parse},
    ]
    loop_in = next(node for node in graph["nodes"] if node["id"] == "loop_in")
    loop_in["config"]["initPorts"].append(
        {"name": "instruction", "wire_type": "TEXT", "persist": True, "required": True}
    )
    edges = [edge for edge in graph["edges"] if edge["target"] != "step"]
    for source, handle, target, target_handle in (
        ("reset", "instruction", "loop_in", "init_instruction"),
        ("loop_in", "init_instruction", "ask", "instruction"),
        *(("loop_in", f"{side}_{n}", "ask", n) for n in seen for side in ("init", "iterout")),
        ("ask", "response", "parse", "text"),
        ("parse", parsed, "step", "action"),
    ):
        edges.append(
            {
                "id": f"{source}.{handle}-{target}",
                "source": source,
                "sourceHandle": handle,
                "target": target,
                "targetHandle": target_handle,
            }
        )
    return {**graph, "name": "line_by_model", "edges": edges}
