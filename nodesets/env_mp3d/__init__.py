"""Matterport3D: R2R's walks from viewpoint to viewpoint, through the public interface of MatterSim.

MatterSim is built from source, and its images are under licence: the tests play a stand-in of recorded
shapes. ``evaltower run mp3d_expert`` checks an installation, also one without images. Node types, ports and
fields are those of AgentCanvas's nodeset of this name.
"""

from __future__ import annotations

from typing import ClassVar

from engine.components import (
    EnvPanelField,
    Requirement,
    StageNodeSet,
    StagePanel,
    below,
    conda_env_python,
    needs_path,
)
from engine.statistics.trajectory import MEASURES

from .scans import CHECKOUT, DATASETS, MATTERSIM, ROOT, SPLITS
from .stage import Mp3dStage
from .tools import TOOLS


class Mp3dPanel(StagePanel):
    name, display_name = "env_mp3d", "Matterport3D"
    fields: ClassVar[list[EnvPanelField]] = [
        EnvPanelField("dataset", "select", "Dataset", options=list(DATASETS)),
        EnvPanelField("split", "select", "Split", options=list(SPLITS)),
        EnvPanelField("episode_index", "number", "Episode: one of a path's instructions", min=0, step=1),
    ]


class EnvMp3d(StageNodeSet):
    """One simulator a process."""

    name, description = "env_mp3d", "Matterport3D: R2R from viewpoint to viewpoint"
    server_python = conda_env_python("evaltower-mp3d", "EVALTOWER_MP3D_PYTHON")
    packages = (MATTERSIM,)
    determinism = "seeded"  # the walk is exact; another card may render a pixel differently
    expected_ram_mb = 2048  # by what is said of it; nobody here could measure
    env_panel, stage_class, tool_classes, metrics = Mp3dPanel, Mp3dStage, TOOLS, (*MEASURES, "length")

    def requirements(self) -> list[Requirement]:
        licence = "agree to the terms at https://niessner.github.io/Matterport; without them nothing is seen"
        return [
            *super().requirements(),
            needs_path("viewpoint graphs", below(ROOT, "connectivity"), CHECKOUT),
            needs_path("R2R episodes", below(ROOT, "tasks/R2R/data/R2R_val_unseen.json"), "its download.sh"),
            needs_path("images", below(ROOT, "data/v1/scans"), licence),
        ]
