"""How to call a server on this machine with httpx."""

from __future__ import annotations

from typing import Any

from engine.components.agentcanvas.canvas_only import canvas_only

__getattr__ = canvas_only(__name__)


def loopback_httpx_kwargs() -> dict[str, Any]:
    """Arguments of a client that goes straight there, whatever proxy the environment names."""
    return {"trust_env": False}
