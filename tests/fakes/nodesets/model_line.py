"""A batched policy for ``env_line``. Its files in ``$MODEL_LINE`` tell what it did, and make it do things:

``loads`` has a line for each process that loaded it, ``shut_down`` one for each that ended in good order,
``batches`` the rows of each forward; while ``slow`` is there a forward takes long, while ``broken`` is it
does not load, and ``other`` gives its outputs other bits; ``hang`` lets one forward never end.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from engine.components import BaseCanvasNode, BaseNodeSet, PortDef

ACTIONS = ("LEFT", "RIGHT", "STOP")
WEIGHTS = np.linspace(-1, 1, 3 * 13, dtype=np.float32).reshape(13, 3)
FOLDER = Path(os.environ.get("MODEL_LINE", "/nonexistent"))
SLOW_SEC, FOREVER_SEC = 0.05, 600.0


def note(name: str, text: object) -> None:
    if FOLDER.is_dir():
        with (FOLDER / name).open("a") as file:
            file.write(f"{text}\n")


class Act(BaseCanvasNode):
    """Where it stands, and a goal, to scores of what to do; ``temperature`` draws by the row's own key."""

    node_type = "model_line__act"
    input_ports: ClassVar[list[PortDef]] = [
        PortDef("observation", "TEXT"),
        PortDef("instruction", "TEXT", optional=True),
    ]
    output_ports: ClassVar[list[PortDef]] = [PortDef("action", "TEXT"), PortDef("scores", "ANY")]
    default_config: ClassVar[dict[str, Any]] = {"temperature": 1.0}
    batched = True

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        samples = inputs["_samples"]
        note("batches", len(samples))
        if (FOLDER / "hang").exists():
            (FOLDER / "hang").unlink()
            time.sleep(FOREVER_SEC)
        if (FOLDER / "slow").exists():
            time.sleep(SLOW_SEC)
        rows = np.stack([self._row(sample) for sample in samples])
        scores = np.tanh(rows @ WEIGHTS) + np.float32((FOLDER / "other").exists())
        return {"_outputs": [self._chosen(*pair) for pair in zip(samples, scores, strict=True)]}

    def sample_rows(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        return [{"observation": f"You are at {rng.integers(12)}."} for _ in range(n)]

    def _row(self, sample: dict[str, Any]) -> np.ndarray:
        row = np.zeros(13, np.float32)
        row[int(sample["observation"].strip(".").split()[-1])] = 1
        row[12] = 0.5
        return row

    def _chosen(self, sample: dict[str, Any], scores: np.ndarray) -> dict[str, Any]:
        noise = np.random.Generator(np.random.PCG64(sample["_key"])).gumbel(size=3)
        best = int((scores + self.config["temperature"] * noise - (0, 0, 1.5)).argmax())
        return {"action": ACTIONS[best], "scores": scores}


class LineModel(BaseNodeSet):
    name = "model_line"
    parallelism = "shared"
    expected_vram_mb = 0
    expected_ram_mb = 100
    start_deadline_sec = 60.0

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Act()]

    async def initialize(self, **kwargs: Any) -> None:
        if (FOLDER / "broken").exists():
            raise FileNotFoundError("weights.pt is not there")
        note("loads", f"{os.getpid()} {os.environ.get('CUDA_VISIBLE_DEVICES', 'any')}")

    async def shutdown(self) -> None:
        note("shut_down", os.getpid())
