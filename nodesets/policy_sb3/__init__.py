"""Policies of stable-baselines3, as it saves them, in batches over all workers.

Imports numpy alone, so that it can be listed where the library is missing; it comes when its process starts.
"""

from __future__ import annotations

from engine.components import BaseCanvasNode, BaseNodeSet, Package, conda_env_python, extra

from .act import Act


class PolicySB3(BaseNodeSet):
    """One process for all workers. Chance comes from each row's key, so batches do not matter."""

    name = "policy_sb3"
    description = "Policies that stable-baselines3 saved, batched; a PPO policy for CartPole comes with it"
    parallelism = "shared"
    server_python = conda_env_python("evaltower-sb3", "EVALTOWER_SB3_PYTHON")
    packages = (
        Package(
            ("stable_baselines3",),
            extra("models", "EVALTOWER_SB3_PYTHON"),
            stands_on=("torch", "gymnasium"),
        ),
    )
    expected_ram_mb = 600

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Act()]
