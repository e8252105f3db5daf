"""The tool: rows through an ONNX file, together where its graph allows it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from engine.components import BaseCanvasNode, PortDef

HOME = Path(__file__).parent


class Run(BaseCanvasNode):
    """Run an ONNX file on each row. Hidden state rides the row: nothing is kept between calls. Config:

    - ``path``: absolute, relative to this nodeset's folder, or ``package:path`` of a file that an installed
      package ships.
    - ``constants``: by name, inputs that are the same for all rows, such as a sampling rate.
    - ``state``: by an input's name, the output that is that input the next time.
    - ``shape``: of a row, for inputs (by name) whose own axes are free; the load-time check needs it.
    - ``provider``: as onnxruntime names it.

    Rows run together where the first axis of the first input is free, and all inputs and outputs have an axis
    of its name (silero-vad's state has it as its second), or begin with one that has no name; a row then has
    their shapes without it. Otherwise a row has the graph's own shapes, and runs alone.
    """

    node_type = "model_onnx__run"
    display_name = "ONNX: Run"
    description = "Run an ONNX file"
    category = "model"
    batched = True
    input_ports = [
        PortDef("value", "ANY", "numbers for the first input, or a dict of them by the inputs' names"),
        PortDef("hidden_in", "ANY", "the last hidden_out; absent at the first step, zeros", optional=True),
    ]
    output_ports = [
        PortDef("value", "ANY", "the first output that is no state"),
        PortDef("outputs", "ANY", "all that are no state, by name"),
        PortDef("hidden_out", "ANY", "state by the name of its input"),
    ]
    default_config = {
        "path": "silero_vad:data/silero_vad_16k_op15.onnx",
        "constants": {"sr": 16000},
        "state": {"state": "stateN"},
        "shape": {"input": [576]},
        "provider": "CPUExecutionProvider",
    }

    async def initialize(self) -> None:
        """Load the file that the config names; ModelFileError or ValueError say what is wrong with it."""
        from .model import Model, ModelFileError

        for name in ("constants", "state", "shape"):
            if not isinstance(self.config[name], dict):
                raise ValueError(f"config {name} is {self.config[name]!r}; it is a dict by the inputs' names")
        path = _located(str(self.config["path"]))
        if path is None or not path.is_file():
            raise ModelFileError(f"{path or self.config['path']}: there is no such model file")
        self.model = Model(path, self.config["provider"], self.config["constants"], self.config["state"])
        self._shapes = {name: self._shape_of(name) for name in self.model.inputs}
        if any(None in shape for name, shape in self._shapes.items() if name not in self.model.state):
            self.sample_rows = None  # Rows of an unknown shape cannot be made up: each one then runs alone.

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        answers = self.model.answers([self._row(sample) for sample in inputs["_samples"]])
        return {"_outputs": [self._outputs(answer) for answer in answers]}

    def sample_rows(self, count: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Normal numbers, integers from 0 to 7, states in [-1, 1]; every fourth row is a first step."""
        rows: list[dict[str, Any]] = []
        for index in range(count):
            drawn = {name: self._drawn(name, rng) for name in self.model.inputs}
            hidden = {name: np.tanh(drawn.pop(name)) for name in self.model.state}
            rows.append({"value": drawn, "hidden_in": hidden} if index % 4 else {"value": drawn})
        return rows

    def _drawn(self, name: str, rng: np.random.Generator) -> np.ndarray:
        shape = [size or 1 for size in self._shapes[name]]
        kind = self.model.inputs[name].dtype
        return (rng.standard_normal(shape) if kind.kind == "f" else rng.integers(0, 8, shape)).astype(kind)

    def _shape_of(self, name: str) -> tuple[int | None, ...]:
        given = self.config["shape"].get(name)
        return tuple(self.model.inputs[name].shape if given is None else given)

    def _row(self, sample: dict[str, Any]) -> dict[str, np.ndarray]:
        value, hidden = sample["value"], sample.get("hidden_in") or {}
        given = dict(value) if isinstance(value, dict) else {self.model.first: value}
        for name in self.model.state:
            given[name] = hidden.get(name, np.zeros([size or 1 for size in self._shapes[name]]))
        return {name: self._fitted(name, given) for name in self.model.inputs}

    def _fitted(self, name: str, given: dict[str, Any]) -> np.ndarray:
        if name not in given:
            raise ValueError(f"a value has no {name!r}, which the model takes")
        array = np.asarray(given[name], dtype=self.model.inputs[name].dtype)
        shape = self._shapes[name]
        if len(array.shape) != len(shape) or any(
            want not in (None, has) for has, want in zip(array.shape, shape)
        ):
            raise ValueError(f"{name} has shape {array.shape}; the model takes {_shown(shape)}")
        return array

    def _outputs(self, answer: dict[str, np.ndarray]) -> dict[str, Any]:
        hidden = {name: answer.pop(source) for name, source in self.model.state.items()}
        return {"value": next(iter(answer.values()), None), "outputs": answer, "hidden_out": hidden}


def _located(path: str) -> Path | None:
    package, colon, inside = path.partition(":")
    if not colon:
        return HOME / path
    found = find_spec(package)  # without importing it
    folders = list(found.submodule_search_locations or []) if found is not None else []
    return Path(folders[0]) / inside if folders else None


def _shown(shape: tuple[int | None, ...]) -> str:
    return "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
