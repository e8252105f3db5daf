"""Any ONNX file as a node, in batches over all workers; shown at work as a detector of voices.

Imports numpy alone, so that it can be listed where onnxruntime is missing; it comes when its process starts.
"""

from __future__ import annotations

from engine.components import BaseCanvasNode, BaseNodeSet, Package, conda_env_python, extra

from .run import Run


class ModelOnnx(BaseNodeSet):
    """One process for all workers. Hidden state rides each row, so batches do not matter."""

    name = "model_onnx"
    description = "ONNX files, batched where their graph has a free batch axis; silero-vad by default"
    parallelism = "shared"
    server_python = conda_env_python("evaltower-onnx", "EVALTOWER_ONNX_PYTHON")
    packages = (
        Package(("onnxruntime",), extra("models", "EVALTOWER_ONNX_PYTHON"), stands_on=("silero_vad",)),
    )
    expected_ram_mb = 200

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Run()]
