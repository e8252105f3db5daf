"""The wire types' names (contract graph-json.md), and images as text."""

from engine.components.agentcanvas.canvas_only import canvas_only
from engine.components.agentcanvas.json_values import base64_to_image, image_to_base64

__all__ = [
    "ACTION",
    "ANY",
    "BOOL",
    "CONTROL",
    "DEPTH",
    "DISCRETE_ACTION",
    "IMAGE",
    "METRICS",
    "OBSERVATION",
    "POSE",
    "STEP_RESULT",
    "TEXT",
    "WIRE_TYPES",
    "base64_to_image",
    "image_to_base64",
    "is_list_type",
    "unwrap_list",
    "wrap_list",
]

IMAGE, DEPTH, POSE = "IMAGE", "DEPTH", "POSE"
DISCRETE_ACTION, CONTROL = "DISCRETE_ACTION", "CONTROL"
TEXT, BOOL, METRICS, ANY = "TEXT", "BOOL", "METRICS", "ANY"
ACTION, OBSERVATION, STEP_RESULT = "ACTION", "OBSERVATION", "STEP_RESULT"
WIRE_TYPES = {
    IMAGE,
    DEPTH,
    POSE,
    DISCRETE_ACTION,
    CONTROL,
    TEXT,
    BOOL,
    METRICS,
    ANY,
    ACTION,
    OBSERVATION,
    STEP_RESULT,
}

__getattr__ = canvas_only(__name__)


def is_list_type(wire_type: str) -> bool:
    """Whether it is ``LIST[…]``."""
    return wire_type.startswith("LIST[") and wire_type.endswith("]")


def unwrap_list(wire_type: str) -> str:
    """``T`` of ``LIST[T]``; anything else as it is."""
    return wire_type[len("LIST[") : -1] if is_list_type(wire_type) else wire_type


def wrap_list(inner: str) -> str:
    """``LIST[inner]``; a list type as it is."""
    return inner if is_list_type(inner) else f"LIST[{inner}]"
