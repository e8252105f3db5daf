"""Ports of the built-in node types under a node's config. Pure.

The two ends of a loop are not here: their ports follow from one another, and engine.graph derives them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.graph.model import Node, Port, Ports

SINKS = frozenset(
    {
        "actionLog",
        "imageViewer",
        "metrics",
        "pointCloudViewer",
        "textScroll",
        "textViewer",
        "trajectoryViewer",
    }
)
"""What they receive is logged; they put out nothing."""

BUILTIN_TYPES = SINKS | {
    "compositeNode",
    "episodeSource",
    "graphIn",
    "graphOut",
    "historyLog",
    "iterIn",
    "iterOut",
    "llmCall",
    "note",
    "nullSource",
    "stateContainer",
    "textParse",
}

_LLM_INPUTS = (
    *(Port(name, "TEXT", optional=True) for name in ("scene", "history", "plan", "instruction", "context")),
    Port("pose", "POSE", optional=True),
    Port("system_prompt", "TEXT", optional=True),
    Port("prompt", "TEXT", optional=True),
    Port("rgb", "LIST[IMAGE]", optional=True),
    Port("image_labels", "LIST[TEXT]", optional=True),
)
_LLM_OUTPUTS = (Port("response", "TEXT"), Port("responses", "LIST[TEXT]"))
_PARSED = (Port("value", "TEXT"), Port("index", "DISCRETE_ACTION"), Port("rest", "TEXT"))
_TEXT = Ports((Port("text", "TEXT", optional=True),), open_inputs=True)

_FIXED = {
    "actionLog": Ports((Port("action", optional=True),), open_inputs=True),
    "compositeNode": Ports(),
    # Each selector of the episode is an output of its own name, too.
    "episodeSource": Ports(
        outputs=(Port("episode_index"), Port("seed"), Port("selectors")), open_outputs=True
    ),
    "historyLog": Ports((Port("entry", "TEXT", optional=True),), (Port("history", "TEXT"),)),
    "metrics": Ports((Port("metrics", optional=True),), open_inputs=True),
    "note": Ports(),
    "pointCloudViewer": Ports(open_inputs=True),
    "stateContainer": Ports(),
    "textParse": Ports((Port("text", "TEXT"),), _PARSED),
    "textScroll": _TEXT,
    "textViewer": _TEXT,
    "trajectoryViewer": Ports(open_inputs=True),
}


def resolve_builtin(node: Node) -> Ports | None:
    """Ports of a built-in node; None where its type is none of these.

    A port that ``config.ports`` declares is optional unless it says ``required: true``, as in saved graphs.
    Sinks log whatever comes, and a template takes any name, so that these take other inputs too. Raises
    ValueError for a declaration that cannot be read.
    """
    config = node.config
    match node.type:
        case "graphIn":
            return Ports(outputs=(Port("value", _wire_type(config, "wireType")),))
        case "graphOut":
            wire_type = _wire_type(config, "wireType")
            takes = "ANY" if wire_type == "METRICS" else wire_type  # a verdict may come as JSON text
            return Ports((Port("value", takes, optional=True),), (Port("value", wire_type, optional=True),))
        case "imageViewer":
            ports = _declared(config, "IMAGE") or (Port("rgb", "IMAGE", optional=True),)
            return Ports(ports, open_inputs=True)
        case "llmCall":
            return Ports(_declared(config, "TEXT") or _LLM_INPUTS, _LLM_OUTPUTS, open_inputs=True)
        case "nullSource":
            return Ports(outputs=(Port("value", _wire_type(config, "wire_type")),))
    return _FIXED.get(node.type)


def _declared(config: Mapping[str, Any], default_type: str) -> tuple[Port, ...]:
    return tuple(_entries(config.get("ports") or (), default_type))


def _entries(ports: Any, default_type: str) -> Iterator[Port]:
    if not isinstance(ports, list | tuple):
        raise ValueError(f"config.ports is {type(ports).__name__}, not a list of ports")
    for index, entry in enumerate(ports):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str) or not entry["name"]:
            raise ValueError(f"config.ports[{index}] is no object with a name")
        wire_type = _wire_type(entry, "wire_type", default_type)
        yield Port(entry["name"], wire_type, optional=not entry.get("required", False))


def _wire_type(config: Mapping[str, Any], key: str, default: str = "ANY") -> str:
    found = config.get(key) or default
    if not isinstance(found, str):
        raise ValueError(f"{key} is {found!r}, not the name of a wire type")
    return found
