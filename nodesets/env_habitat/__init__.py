"""Habitat: VLN-CE (R2R-CE, RxR-CE), R2R and ObjectNav, through the public ``habitat.Env``.

Written against habitat-lab 0.1.7 (VLN-CE's) and 0.2.3 to 0.3.4, which no package index has whole, with scenes
under licence: the tests play a stand-in of recorded shapes. ``evaltower run habitat_expert`` checks an
installation. Node types, ports and fields are those of AgentCanvas's nodeset of this name.
"""

from __future__ import annotations

from engine.components import EnvPanelField, conda_env_python
from engine.components.navigation import NavigationStageNodeSet

from .stage import HabitatStage
from .tasks import PACKAGES, ROOT, TASKS
from .tools import TOOLS

_THERE = f"set {ROOT} to the folder that holds data/ (for VLN-CE its checkout)"


class EnvHabitat(NavigationStageNodeSet):
    """One simulator a process."""

    name, title = "env_habitat", "Habitat"
    description = "Habitat: VLN-CE and ObjectNav in scanned houses"
    server_python = conda_env_python("evaltower-habitat", "EVALTOWER_HABITAT_PYTHON")
    packages, root = PACKAGES, ROOT
    data = (("scenes", "data/scene_datasets", _THERE), ("episodes", "data/datasets", _THERE))
    expected_ram_mb = 4096  # by what is said of it; nobody here could measure
    recycle_above_mb = 12288
    stage_class, tool_classes = HabitatStage, TOOLS
    fields = (
        EnvPanelField("dataset", "select", "Dataset", options=list(TASKS)),
        EnvPanelField("split", "text", "Split", placeholder="val_unseen; RxR-CE: val_unseen_en"),
        EnvPanelField("overrides", "text", "Habitat's settings", placeholder="KEY=VALUE; …", optional=True),
    )
