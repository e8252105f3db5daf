"""ManiSkill 3: robot arms on a table, in SAPIEN on the CPU, seen as numbers or through a camera.

    python3 -m venv DIR
    DIR/bin/pip install aiohttp msgspec torch
    DIR/bin/pip install mani-skill
    export EVALTOWER_MANISKILL_PYTHON=DIR/bin/python

It wants a Vulkan device in every mode. Where there is no card, that is Mesa's lavapipe, of version 25 or
newer: on Debian 12 ``apt-get install --no-install-recommends -t bookworm-backports mesa-vulkan-drivers``.
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
)

from .stage import OBS_MODES, ManiSkillStage
from .tools import TOOLS


class ManiSkillPanel(StagePanel):
    name, display_name = "env_maniskill", "ManiSkill"
    only_fields = True
    fields: ClassVar[list[EnvPanelField]] = [
        EnvPanelField("task", "text", "Task", placeholder="PickCube-v1"),
        EnvPanelField("obs_mode", "select", "Observation", options=list(OBS_MODES)),
        EnvPanelField("control_mode", "text", "Control (empty: the task's)", placeholder="pd_ee_delta_pos"),
        EnvPanelField("episode_index", "number", "Episode", min=0, step=1),
    ]


class EnvManiSkill(StageNodeSet):
    """One scene a process. With a camera, making one leaks 19 MB: it is kept while the task is the same."""

    name, description = "env_maniskill", "ManiSkill 3's robot arms, on the CPU"
    server_python = conda_env_python("evaltower-maniskill", "EVALTOWER_MANISKILL_PYTHON")
    expected_ram_mb = 900
    recycle_above_mb = 4096
    env_panel, stage_class, tool_classes = ManiSkillPanel, ManiSkillStage, TOOLS
    metrics = ("success", "return", "length")

    def requirements(self) -> list[Requirement]:
        needs = [needs_module("mani_skill", "pip install torch, then mani-skill")]
        return [*needs, _vulkan()] if needs[0].met else needs


def _vulkan() -> Requirement:
    import sapien

    lavapipe = "apt-get install --no-install-recommends -t bookworm-backports mesa-vulkan-drivers"
    try:
        sapien.render.RenderSystem("cpu")
    except RuntimeError as error:
        return Requirement("a Vulkan device", False, str(error), lavapipe)
    return Requirement("a Vulkan device", True, "there")
