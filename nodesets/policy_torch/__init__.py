"""Policies of torch, as TorchScript or state_dicts, in batches over all workers.

Imports numpy alone, so that it can be listed where torch is missing; torch comes when its process starts.
"""

from __future__ import annotations

from engine.components import BaseCanvasNode, BaseNodeSet, Package, conda_env_python, extra

from .act import Act


class PolicyTorch(BaseNodeSet):
    """One process for all workers. Hidden state and random key ride each row, so batches do not matter."""

    name = "policy_torch"
    description = "TorchScript and state_dict policies, batched; a recurrent CartPole policy comes with it"
    parallelism = "shared"
    server_python = conda_env_python("evaltower-torch", "EVALTOWER_TORCH_PYTHON")
    packages = (Package(("torch",), extra("torch", "EVALTOWER_TORCH_PYTHON")),)
    expected_ram_mb = 400

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Act()]
