"""Names of actions and wire types."""

from engine.components.agentcanvas.canvas_only import canvas_only

from .actions import *  # noqa: F403
from .wire_types import *  # noqa: F403

__getattr__ = canvas_only(__name__)
