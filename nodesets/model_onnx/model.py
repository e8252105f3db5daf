"""An ONNX file, and what its graph says of the axis that rows share. Imports onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, NamedTuple

import numpy as np
import onnxruntime

from engine.components import WrongChoice

_DTYPES = {"float": "float32", "double": "float64"}


class ModelFileError(WrongChoice):
    """A model cannot be loaded; the message names the file and what is wrong with it."""


class Tensor(NamedTuple):
    """An input or output: the shape of one row (None: any size), and the axis that rows are stacked along."""

    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    axis: int | None = None

    def stacked_along(self, axis: int) -> Tensor:
        """The same, of rows that are stacked."""
        return Tensor(self.dtype, self.shape[:axis] + self.shape[axis + 1 :], axis)


class Model:
    """``inputs`` by name, but for constants; ``state``: by input, the output that is it the next time;
    ``first``: the input that a bare value is for; ``is_batched``: whether rows run together.

    One thread, and algorithms that add in one order. Raises ModelFileError.
    """

    def __init__(
        self, path: Path, provider: str, constants: Mapping[str, Any], state: Mapping[str, str]
    ) -> None:
        self._session = _opened(path, provider)
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        everything = {node.name: _tensor(node, path) for node in inputs}
        for name in [*constants, *state]:
            _require(name, everything, path, "input")
        self.inputs = {name: tensor for name, tensor in everything.items() if name not in constants}
        self._outputs = {node.name: _tensor(node, path) for node in outputs}
        for name in state.values():
            _require(name, self._outputs, path, "output")
        self._constants = {
            name: np.asarray(value, dtype=everything[name].dtype) for name, value in constants.items()
        }
        self.state = dict(state)
        self.first = next(name for name in self.inputs if name not in state)
        axes = _batch_axes([node for node in [*inputs, *outputs] if node.name not in constants])
        self.is_batched = axes is not None
        for group in (self.inputs, self._outputs) if axes is not None else ():
            group.update({name: tensor.stacked_along(axes[name]) for name, tensor in group.items()})

    def answers(self, rows: list[dict[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
        """The outputs of each row, by name."""
        alike = all(row[name].shape == rows[0][name].shape for row in rows for name in self.inputs)
        if self.is_batched and alike:
            return self._run(rows)
        return [self._run([row])[0] for row in rows]

    def _run(self, rows: list[dict[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
        fed = dict(self._constants)
        for name, tensor in self.inputs.items():
            values = [row[name] for row in rows]
            fed[name] = values[0] if tensor.axis is None else np.stack(values, tensor.axis)
        found = dict(zip(self._outputs, self._session.run(None, fed)))
        return [
            {name: self._one(found[name], tensor.axis, index) for name, tensor in self._outputs.items()}
            for index in range(len(rows))
        ]

    def _one(self, found: np.ndarray, axis: int | None, index: int) -> np.ndarray:
        return found if axis is None else np.ascontiguousarray(found.take(index, axis))


def _opened(path: Path, provider: str) -> Any:
    there = onnxruntime.get_available_providers()
    if provider not in there:
        raise ModelFileError(f"config provider is {provider!r}; onnxruntime here has {', '.join(there)}")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=[provider])
    except Exception as error:
        words = " ".join(str(error).split())
        raise ModelFileError(f"{path}: {type(error).__name__}: {words}") from error


def _tensor(node: Any, path: Path) -> Tensor:
    kind = node.type[len("tensor(") : -1]
    try:
        dtype = np.dtype(_DTYPES.get(kind, kind))
    except TypeError:
        raise ModelFileError(f"{path}: {node.name} is a {node.type}, which no array is") from None
    return Tensor(dtype, tuple(size if isinstance(size, int) else None for size in node.shape))


def _batch_axes(nodes: list[Any]) -> dict[str, int] | None:
    """By name, the axis that is called like the first axis of the first node; None unless all have one.

    Axes without a name are taken to be it where they come first.
    """
    wanted = nodes[0].shape[0] if nodes[0].shape else 0
    if isinstance(wanted, int) or not all(wanted in node.shape for node in nodes):
        return None
    axes = {node.name: node.shape.index(wanted) for node in nodes}
    return None if wanted is None and any(axes.values()) else axes


def _require(name: str, known: Mapping[str, Any], path: Path, what: str) -> None:
    if name not in known:
        raise ModelFileError(f"{path} has no {what} {name!r}; it has {', '.join(known)}")
