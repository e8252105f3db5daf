"""The definitions that a nodeset needs for containers of its own."""

from engine.components.agentcanvas.canvas_only import canvas_only
from engine.components.bases import ContainerDef, StateDef

__all__ = ["ContainerDef", "StateDef"]

__getattr__ = canvas_only(__name__)
