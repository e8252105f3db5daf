"""ManiSkill 3: robot arms on a table, in SAPIEN on the CPU, seen as numbers or through a camera.

    python3 -m venv DIR
    DIR/bin/pip install aiohttp msgspec torch
    DIR/bin/pip install mani-skill
    export EVALTOWER_MANISKILL_PYTHON=DIR/bin/python

It wants a Vulkan device in every mode. Where there is no card, that is Mesa's lavapipe, of version 25 or
newer: on Debian 12 ``apt-get install --no-install-recommends -t bookworm-backports mesa-vulkan-drivers``.
"""

from __future__ import annotations

from engine.components import (
    EnvPanelField,
    Package,
    Requirement,
    StageNodeSet,
    conda_env_python,
)

from .stage import OBS_MODES, ManiSkillStage
from .tools import TOOLS


class EnvManiSkill(StageNodeSet):
    """One scene a process. With a camera, making one leaks 19 MB: it is kept while the task is the same."""

    name, title, description = "env_maniskill", "ManiSkill", "ManiSkill 3's robot arms, on the CPU"
    server_python = conda_env_python("evaltower-maniskill", "EVALTOWER_MANISKILL_PYTHON")
    expected_ram_mb = 900
    recycle_above_mb = 4096
    stage_class, tool_classes = ManiSkillStage, TOOLS
    only_fields = True
    fields = (
        EnvPanelField("task", "text", "Task", placeholder="PickCube-v1"),
        EnvPanelField("obs_mode", "select", "Observation", options=list(OBS_MODES)),
        EnvPanelField(
            "control_mode",
            "text",
            "Control (empty: the task's)",
            placeholder="pd_ee_delta_pos",
            optional=True,
        ),
    )
    metrics = ("success", "return", "length")

    packages = (
        Package(
            ("mani_skill",),
            "pip install torch, then mani-skill",
            stands_on=("sapien", "torch", "gymnasium", "mplib"),
        ),
    )

    def requirements(self) -> list[Requirement]:
        needs = super().requirements()
        return [*needs, _vulkan()] if needs[0].met else needs


def _vulkan() -> Requirement:
    import sapien

    lavapipe = "apt-get install --no-install-recommends -t bookworm-backports mesa-vulkan-drivers"
    try:
        sapien.render.RenderSystem("cpu")
    except RuntimeError as error:
        return Requirement("a Vulkan device", False, str(error), lavapipe)
    return Requirement("a Vulkan device", True, "there")
