"""The parts of AgentCanvas's server room that nodesets use."""

from engine.components.agentcanvas.canvas_only import canvas_only

__getattr__ = canvas_only(__name__)
