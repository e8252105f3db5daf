"""Makes ``app`` and ``workspace`` importable in a process that loads a nodeset. Python 3.8+.

``app`` is the folder beside this file. A module of AgentCanvas's that is not there can be imported all the
same, and complains when it is used: see ``canvas_only``.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Sequence

from engine.components.agentcanvas.canvas_only import canvas_only

_APP = Path(__file__).with_name("app")


def expose(workspaces: Sequence[Path]) -> None:
    """From now on ``app`` is ours, and ``workspace`` is the first of these folders that has what is asked."""
    sys.meta_path.insert(0, _Names(workspaces))


class _Names:
    """Comes before everything installed: ``app`` is a common name for a stray package."""

    def __init__(self, workspaces: Sequence[Path]) -> None:
        self._workspaces = [str(folder) for folder in workspaces]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "app":
            return spec_from_file_location(
                "app", _APP / "__init__.py", submodule_search_locations=[str(_APP)]
            )
        if fullname.startswith("app."):
            return PathFinder.find_spec(fullname, path) or _absent(fullname)
        if fullname == "workspace" and self._workspaces:
            namespace = ModuleSpec(fullname, None, is_package=True)
            namespace.submodule_search_locations = list(self._workspaces)
            return namespace
        return None


class _AbsentModule:
    """Loads an empty module, every name of which is a :class:`canvas_only.CanvasOnly`."""

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        module.__dict__["__getattr__"] = canvas_only(module.__name__)


def _absent(fullname: str) -> ModuleSpec:
    return ModuleSpec(fullname, _AbsentModule, is_package=True)  # type: ignore[arg-type]
