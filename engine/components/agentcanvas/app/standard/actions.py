"""The discrete actions of navigation environments: 0 stop, 1 forward, 2 left, 3 right."""

from engine.components.agentcanvas.canvas_only import canvas_only

__all__ = [
    "ACTION_FORWARD",
    "ACTION_FROM_NAME",
    "ACTION_NAMES",
    "ACTION_STOP",
    "ACTION_TURN_LEFT",
    "ACTION_TURN_RIGHT",
]

ACTION_STOP, ACTION_FORWARD, ACTION_TURN_LEFT, ACTION_TURN_RIGHT = range(4)
ACTION_NAMES = {
    ACTION_STOP: "STOP",
    ACTION_FORWARD: "FORWARD",
    ACTION_TURN_LEFT: "TURN_LEFT",
    ACTION_TURN_RIGHT: "TURN_RIGHT",
}
ACTION_FROM_NAME = {name: action for action, name in ACTION_NAMES.items()}

__getattr__ = canvas_only(__name__)
