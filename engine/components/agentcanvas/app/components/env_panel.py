"""``engine.components.env_panel`` under AgentCanvas's name."""

from __future__ import annotations

from engine.components.agentcanvas.canvas_only import canvas_only
from engine.components.env_panel import BaseEnvPanel, EnvPanelAction, EnvPanelField, EnvPanelInfo

__all__ = ["BaseEnvPanel", "EnvPanelAction", "EnvPanelField", "EnvPanelInfo", "get_env_panel"]

__getattr__ = canvas_only(__name__)


def get_env_panel(name: str) -> BaseEnvPanel | None:
    """None, as in any of AgentCanvas's server processes: the panels of others live in theirs."""
    return None
