"""SimplerEnv: 25 manipulation tasks of two robots, simulated so that they look like the real ones.

Written against the public interface of simpler_env (``make``, Gymnasium's reset and step, the image of an
observation), which is on no package index and wants an NVIDIA card: the tests play a stand-in of recorded
shapes. ``evaltower run simpler_random`` checks an installation. Node types, ports and fields are those of
AgentCanvas's nodeset of this name. An episode ends at its first success; SimplerEnv's own script plays on to
the limit, and takes the last step's.
"""

from __future__ import annotations

from engine.components import Condition, EnvPanelField, Package, StageNodeSet, conda_env_python

from .stage import SPLITS, SimplerStage
from .tools import TOOLS


class EnvSimpler(StageNodeSet):
    """One scene a process. Physics is seeded; another card may render a pixel differently."""

    name, title = "env_simpler", "SimplerEnv"
    description = "SimplerEnv: robot arms that pick, place, open and close"
    server_python = conda_env_python("evaltower-simpler", "EVALTOWER_SIMPLER_PYTHON")
    determinism = "seeded"
    expected_ram_mb = 4096  # by what is said of it; nobody here could measure
    expected_vram_mb = 2048
    recycle_above_mb = 12288
    stage_class, tool_classes = SimplerStage, TOOLS
    fields = (
        EnvPanelField("split", "select", "Robot", options=list(SPLITS)),
        EnvPanelField("task_id", "text", "Task (empty: the robot's first)", placeholder="widowx_stack_cube"),
        EnvPanelField("episode_index", "number", "Episode: which of the task's placements", min=0, step=1),
    )
    metrics = ("success", "num_steps", "cumulative_reward")

    packages = (
        Package(
            ("simpler_env",),
            "git clone --recurse-submodules https://github.com/simpler-env/SimplerEnv, then pip install "
            "'numpy<2' -e ManiSkill2_real2sim -e .",
            stands_on=("mani_skill2_real2sim", "sapien", "gymnasium"),
        ),
    )
    conditions = (
        Condition("an NVIDIA card", "SAPIEN 2 renders on one, and on nothing else", path="/dev/nvidiactl"),
    )
