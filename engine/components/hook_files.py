"""Hooks for every graph: ``hooks.json`` in a workspace, a list of hooks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.components.roots import NodesetRoot
from engine.graph.decode import decode
from engine.graph.model import GraphError, Hook
from engine.graph.read import read_hooks

FILE = "hooks.json"


def global_hooks(roots: Sequence[NodesetRoot]) -> tuple[Hook, ...]:
    """The hooks of the first workspace that has a file of them. GraphError for one that cannot be read."""
    for root in roots:
        path = root.workspace / FILE if root.workspace is not None else None
        if path is not None and path.is_file():
            return _read(path)
    return ()


def _read(path: Path) -> tuple[Hook, ...]:
    data, problems = decode(path.read_bytes())
    if not problems:
        hooks, problems = read_hooks(data, str(path))
    if problems:
        raise GraphError(problems, str(path))
    return hooks
