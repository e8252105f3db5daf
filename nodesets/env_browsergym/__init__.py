"""MiniWoB's small web tasks in a real, headless Chromium, through BrowserGym.

    python3 -m venv DIR
    DIR/bin/pip install aiohttp msgspec numpy browsergym-core browsergym-miniwob miniwob
    apt-get install --no-install-recommends chromium
    export EVALTOWER_BROWSERGYM_PYTHON=DIR/bin/python

The pages are files of the package miniwob: nothing is loaded from a network.
"""

from __future__ import annotations

from engine.components import EnvPanelField, Package, StageNodeSet, conda_env_python

from .stage import CHROMIUM, BrowserStage
from .tools import TOOLS


class EnvBrowserGym(StageNodeSet):
    """One browser a process, a new one for each episode. Pages move by the clock, so that two screenshots of
    one episode need not be the same."""

    name, title = "env_browsergym", "BrowserGym"
    description = "MiniWoB's web tasks in Chromium, through BrowserGym"
    server_python = conda_env_python("evaltower-browsergym", "EVALTOWER_BROWSERGYM_PYTHON")
    determinism = "seeded"
    expected_ram_mb = 1200
    recycle_above_mb = 4096
    stage_class, tool_classes = BrowserStage, TOOLS
    only_fields = True
    fields = (EnvPanelField("task", "text", "Task", placeholder="miniwob.click-test"),)
    metrics = ("success", "return", "length")

    packages = tuple(
        Package(
            (name,),
            "pip install browsergym-core browsergym-miniwob miniwob",
            stands_on=("browsergym-core", "playwright", "gymnasium"),
        )
        for name in ("browsergym.miniwob", "miniwob")
    )
    programs = (CHROMIUM,)
