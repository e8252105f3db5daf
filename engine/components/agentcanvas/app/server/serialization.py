"""Values as they travel in JSON bodies."""

from engine.components.agentcanvas.canvas_only import canvas_only
from engine.components.agentcanvas.json_values import deserialize_value, serialize_value

__all__ = ["deserialize_value", "serialize_value"]

__getattr__ = canvas_only(__name__)
