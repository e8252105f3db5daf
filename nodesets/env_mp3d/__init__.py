"""Matterport3D: R2R's walks from viewpoint to viewpoint, through the public interface of MatterSim.

MatterSim is built from source, and its images are under licence: the tests play a stand-in of recorded
shapes. ``evaltower run mp3d_expert`` checks an installation, also one without images. Node types, ports and
fields are those of AgentCanvas's nodeset of this name.
"""

from __future__ import annotations

from engine.components import EnvPanelField, conda_env_python
from engine.components.navigation import NavigationStageNodeSet

from .scans import CHECKOUT, DATASETS, DOWNLOAD, MATTERSIM, ROOT, SPLITS
from .stage import Mp3dStage
from .tools import TOOLS

_LICENCE = "agree to the terms at https://niessner.github.io/Matterport; without them nothing is seen"


class EnvMp3d(NavigationStageNodeSet):
    """One simulator a process. The walk is exact; only what is seen may differ."""

    name, title = "env_mp3d", "Matterport3D"
    description = "Matterport3D: R2R from viewpoint to viewpoint"
    server_python = conda_env_python("evaltower-mp3d", "EVALTOWER_MP3D_PYTHON")
    packages, root = (MATTERSIM,), ROOT
    data = (
        ("viewpoint graphs", "connectivity", CHECKOUT),
        ("R2R episodes", "tasks/R2R/data/R2R_val_unseen.json", DOWNLOAD),
        ("images", "data/v1/scans", _LICENCE),
    )
    expected_ram_mb = 2048  # by what is said of it; nobody here could measure
    stage_class, tool_classes = Mp3dStage, TOOLS
    fields = (
        EnvPanelField("dataset", "select", "Dataset", options=list(DATASETS)),
        EnvPanelField("split", "select", "Split", options=list(SPLITS)),
        EnvPanelField("episode_index", "number", "Episode: one of a path's instructions", min=0, step=1),
    )
