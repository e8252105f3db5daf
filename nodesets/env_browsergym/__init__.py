"""MiniWoB's small web tasks in a real, headless Chromium, through BrowserGym.

    python3 -m venv DIR
    DIR/bin/pip install aiohttp msgspec numpy browsergym-core browsergym-miniwob miniwob
    apt-get install --no-install-recommends chromium
    export EVALTOWER_BROWSERGYM_PYTHON=DIR/bin/python

The pages are files of the package miniwob: nothing is loaded from a network.
"""

from __future__ import annotations

from typing import ClassVar

from engine.components import (
    EnvPanelField,
    Requirement,
    StageNodeSet,
    StagePanel,
    conda_env_python,
    needs_module,
    needs_program,
)

from .stage import CHROMIUM, BrowserStage
from .tools import TOOLS


class BrowserPanel(StagePanel):
    name, display_name = "env_browsergym", "BrowserGym"
    only_fields = True
    fields: ClassVar[list[EnvPanelField]] = [
        EnvPanelField("task", "text", "Task", placeholder="miniwob.click-test"),
        EnvPanelField("episode_index", "number", "Episode", min=0, step=1),
    ]


class EnvBrowserGym(StageNodeSet):
    """One browser a process, a new one for each episode. Pages move by the clock, so that two screenshots of
    one episode need not be the same."""

    name, description = "env_browsergym", "MiniWoB's web tasks in Chromium, through BrowserGym"
    server_python = conda_env_python("evaltower-browsergym", "EVALTOWER_BROWSERGYM_PYTHON")
    determinism = "seeded"
    expected_ram_mb = 1200
    recycle_above_mb = 4096
    env_panel, stage_class, tool_classes = BrowserPanel, BrowserStage, TOOLS
    metrics = ("success", "return", "length")

    def requirements(self) -> list[Requirement]:
        packages = "pip install browsergym-core browsergym-miniwob miniwob"
        return [
            needs_module("browsergym.miniwob", packages),
            needs_module("miniwob", packages),
            needs_program(list(CHROMIUM), "apt-get install --no-install-recommends chromium"),
        ]
