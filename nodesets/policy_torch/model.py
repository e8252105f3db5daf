"""Policies on disk as modules that map (observations, states) to (scores, states). Imports torch."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, Mapping

import torch
from torch import Tensor, nn


class PolicyFileError(Exception):
    """A policy cannot be loaded; the message names the file and what it must hold."""


class MlpGru(nn.Module):
    """Tanh layers, a GRU cell where ``gru`` > 0, and a linear head.

    ``select`` picks the entries of an observation that the policy sees (all of them where it is empty), and
    ``scale`` divides them.
    """

    def __init__(
        self,
        *,
        inputs: int,
        outputs: int,
        layers: list[int],
        gru: int = 0,
        select: list[int] | None = None,
        scale: list[float] | None = None,
    ) -> None:
        super().__init__()
        self.observation_shape = [inputs]
        self.state_size = gru
        self._select = list(select or range(inputs))
        self.register_buffer("scale", torch.tensor(scale or [1.0] * len(self._select)), persistent=False)
        widths = [len(self._select), *layers]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.cell = nn.GRUCell(widths[-1], gru) if gru else None
        self.head = nn.Linear(gru or widths[-1], outputs)

    def forward(self, observations: Tensor, states: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
        """(B, inputs) float32 to (B, outputs); with a GRU, states (B, gru) go in and come out beside them."""
        seen = observations[:, self._select] / self.scale
        for layer in self.layers:
            seen = torch.tanh(layer(seen))
        if self.cell is None:
            return self.head(seen)
        states = self.cell(seen, states)
        return self.head(states), states


def load_policy(path: Path, architecture: Mapping[str, Any] | None, device: str) -> nn.Module:
    """A policy in eval mode on ``device``.

    The file is TorchScript, or saved by torch.save: ``{"architecture": {}, "state_dict": {}}`` or the latter
    alone, ``architecture`` being the arguments of :class:`MlpGru`. PolicyFileError says what is wrong.
    """
    if not path.is_file():
        raise PolicyFileError(f"{path}: there is no such policy file")
    try:
        module = _scripted(path, device) if _is_torchscript(path) else _from_state(path, architecture, device)
    except PolicyFileError:
        raise
    except Exception as error:
        words = " ".join(str(error).split())
        raise PolicyFileError(f"{path}: {type(error).__name__}: {words}") from error
    return module.eval()


def _is_torchscript(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any("/code/" in name for name in archive.namelist())


def _scripted(path: Path, device: str) -> nn.Module:
    module: nn.Module = torch.jit.load(str(path), map_location=device)
    return module


def _from_state(path: Path, architecture: Mapping[str, Any] | None, device: str) -> nn.Module:
    saved = torch.load(path, map_location=device, weights_only=True)
    if isinstance(saved, dict) and "state_dict" in saved:
        architecture = architecture or saved.get("architecture")
        saved = saved["state_dict"]
    if not architecture:
        raise PolicyFileError(
            f"{path} holds weights alone: give the node's config an architecture "
            '{"inputs", "outputs", "layers", "gru"}'
        )
    module = MlpGru(**architecture)
    module.load_state_dict(saved)
    return module.to(device)
