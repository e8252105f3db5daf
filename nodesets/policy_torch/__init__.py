"""Policies of torch, as TorchScript or state_dicts, in batches over all workers.

Imports numpy alone, so that it can be listed where torch is missing; torch comes when its process starts.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from engine.components import BaseCanvasNode, BaseNodeSet, conda_env_python

from .act import Act


class PolicyTorch(BaseNodeSet):
    """One process for all workers. Hidden state and random key ride each row, so batches do not matter."""

    name = "policy_torch"
    description = "TorchScript and state_dict policies, batched; a recurrent CartPole policy comes with it"
    parallelism = "shared"
    server_python = conda_env_python("evaltower-torch", "EVALTOWER_TORCH_PYTHON")
    expected_ram_mb = 400

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Act()]

    async def initialize(self, **kwargs: Any) -> None:
        """ImportError, in one sentence, where torch is missing."""
        if find_spec("torch") is None:
            raise ImportError(
                f"policy_torch needs torch, which {sys.executable} lacks: pip install 'evaltower[torch]', "
                "or set EVALTOWER_TORCH_PYTHON to an interpreter that has it"
            )
