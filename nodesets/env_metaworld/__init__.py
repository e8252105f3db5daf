"""Meta-World v3: fifty things that a robot arm does on a table, each with a scripted policy that does it."""

from __future__ import annotations

from engine.components import EnvPanelField, StageNodeSet, conda_env_python
from engine.components.drawing import mujoco_draws

from .tasks import TASKS
from .tools import TOOLS
from .trial import CHOICES, METAWORLD, METRICS, Bench


class EnvMetaWorld(StageNodeSet):
    """One arm and one task a process, made anew for every episode."""

    name, title = "env_metaworld", "Meta-World v3"
    description = "Meta-World v3: 50 manipulation tasks (MT1, MT50), scripted and random policies"
    server_python = conda_env_python("evaltower-metaworld", "EVALTOWER_METAWORLD_PYTHON")
    packages = (METAWORLD,)
    conditions = mujoco_draws({})
    expected_ram_mb = 400  # 210 to 280 without frames
    recycle_above_mb = 1024  # what closed environments leave behind comes and goes, some tens of MB
    stage_class, tool_classes, metrics = Bench, TOOLS, METRICS
    only_fields = True
    fields = (
        EnvPanelField("task_id", "select", "Task (without one: the fifty in turn)", options=TASKS),
        EnvPanelField("frames", "select", "Frames", options=CHOICES["frames"]),
        EnvPanelField("until", "select", "An episode ends at", options=CHOICES["until"]),
    )
