"""``engine.components.bases`` under AgentCanvas's name."""

from engine.components import *  # noqa: F403
from engine.components.agentcanvas.canvas_only import canvas_only

__getattr__ = canvas_only(__name__)
