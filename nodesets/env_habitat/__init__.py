"""Habitat: VLN-CE (R2R-CE, RxR-CE), R2R and ObjectNav, through the public ``habitat.Env``.

Written against habitat-lab 0.1.7 (VLN-CE's) and 0.2.3 to 0.3.4, which no package index has whole, with scenes
under licence: the tests play a stand-in of recorded shapes. ``evaltower run habitat_expert`` checks an
installation. Node types, ports and fields are those of AgentCanvas's nodeset of this name.
"""

from __future__ import annotations

from typing import ClassVar

from engine.components import EnvPanelField, Requirement, StageNodeSet, StagePanel, below, conda_env_python
from engine.components import needs_module as module
from engine.components import needs_path as path
from engine.statistics.trajectory import MEASURES

from .stage import HabitatStage
from .tasks import PACKAGES, ROOT, TASKS
from .tools import TOOLS


class HabitatPanel(StagePanel):
    name, display_name = "env_habitat", "Habitat"
    fields: ClassVar[list[EnvPanelField]] = [
        EnvPanelField("dataset", "select", "Dataset", options=list(TASKS)),
        EnvPanelField("split", "text", "Split", placeholder="val_unseen; RxR-CE: val_unseen_en"),
        EnvPanelField("overrides", "text", "Habitat's settings", placeholder="KEY=VALUE; …"),
        EnvPanelField("episode_index", "number", "Episode", min=0, step=1),
    ]


class EnvHabitat(StageNodeSet):
    """One simulator a process. Another machine's GPU may render a pixel differently."""

    name, description = "env_habitat", "Habitat: VLN-CE and ObjectNav in scanned houses"
    server_python = conda_env_python("evaltower-habitat", "EVALTOWER_HABITAT_PYTHON")
    packages = PACKAGES
    determinism = "seeded"
    expected_ram_mb = 4096  # by what is said of it; nobody here could measure
    recycle_above_mb = 12288
    env_panel, stage_class, tool_classes, metrics = HabitatPanel, HabitatStage, TOOLS, (*MEASURES, "length")

    def requirements(self) -> list[Requirement]:
        there = f"set {ROOT} to the folder that holds data/ (for VLN-CE its checkout)"
        return [
            module("habitat_sim", "conda install -c aihabitat -c conda-forge habitat-sim headless"),
            *super().requirements(),
            path("scenes", below(ROOT, "data/scene_datasets"), there),
            path("episodes", below(ROOT, "data/datasets"), there),
        ]
