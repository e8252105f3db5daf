"""Where nodesets are looked for, and which files are taken for one. Imports none of them."""

from __future__ import annotations

import ast
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import engine

_log = logging.getLogger(__name__)

ENTRY_POINTS = "evaltower.nodesets"
SCORING_SUFFIX = ".scoring.json"
"""Of the file beside a saved graph that says how its runs are scored."""

_TEST_FILE = re.compile(r"^(test_.*|.*_test|conftest)\.py$")
_PARSING = threading.Lock()  # Python 3.11's parser fails when threads meet in it (python/cpython#106905)
_OTHER_FOLDERS = frozenset({"__pycache__", "graphs", "tests"})


@dataclass(frozen=True, slots=True)
class NodesetRoot:
    """Places of equal rank: folders to search, or nodeset files and folders; and a folder of saved graphs.

    ``workspace``: the folder that AgentCanvas's absolute names, ``workspace.…``, begin at.
    """

    origin: str
    places: tuple[Path, ...]
    graphs: Path | None = None
    workspace: Path | None = None


def standard_roots(workspaces: Sequence[Path] = (), overlay: Path | None = None) -> list[NodesetRoot]:
    """Overlay, workspaces in their order, installed packages, built-ins: the first to have a name wins.

    A workspace, like an overlay, is a folder with ``nodesets/**`` and ``graphs/**``.
    """
    named = {overlay: "overlay"} if overlay else {}
    for workspace in workspaces:
        named.setdefault(workspace, "workspace")
    roots = [
        NodesetRoot(origin, (folder / "nodesets",), folder / "graphs", folder)
        for folder, origin in named.items()
    ]
    builtin = Path(engine.__file__).parent.parent / "nodesets"
    return [*roots, NodesetRoot("package", tuple(_packages())), NodesetRoot("builtin", (builtin,))]


def roots_of(
    root: Path, workspaces: Sequence[str] = (), active_workspace_dir: str | None = None
) -> list[NodesetRoot]:
    """Where a run of ``root`` finds nodesets, graphs and hooks; who asks before its start looks there too.

    The root's own workspace comes after ``workspaces``; ``active_workspace_dir`` is the overlay.
    """
    overlay = Path(active_workspace_dir) if active_workspace_dir else None
    return standard_roots([*map(Path, workspaces), root / "workspace"], overlay)


def candidates(root: NodesetRoot) -> list[Path]:
    """The files and folders of a root that may hold nodesets, each once, in order of their names."""
    seen: set[Path] = set()
    return list(dict.fromkeys(home for place in root.places for home in _below(place, seen)))


def graph_files(folder: Path) -> list[Path]:
    """The saved graphs in a folder and below, sorted. How one is scored lies beside it, and is none."""
    return sorted(path for path in _named_as_graphs(folder) if path.is_file())


def lost_links(folder: Path) -> list[Path]:
    """Names of graphs in a folder and below that lead nowhere."""
    return [path for path in _named_as_graphs(folder) if path.is_symlink() and not path.exists()]


def _named_as_graphs(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*.json") if not path.name.endswith(SCORING_SUFFIX))


def _below(place: Path, seen: set[Path]) -> Iterator[Path]:
    """``seen`` holds the real paths of visited folders, so that links in a circle end."""
    if place.is_file():
        if _mentions(place):
            yield place
        return
    if not place.is_dir() or place.resolve() in seen:
        return
    seen.add(place.resolve())
    if _is_nodeset(place):
        if any(_mentions(source) for source in place.rglob("*.py")):
            yield place
        return
    for entry in sorted(place.iterdir()):
        if _is_wanted(entry):
            yield from _below(entry, seen)


def _is_nodeset(folder: Path) -> bool:
    """A package whose ``__init__.py`` is empty or commented only groups what is below."""
    init = folder / "__init__.py"
    if not init.is_file():
        return False
    try:
        with _PARSING:
            body = ast.parse(_content(init)).body
    except (SyntaxError, ValueError):
        return True
    return any(isinstance(statement, (ast.Import, ast.ImportFrom, ast.ClassDef)) for statement in body)


def _is_wanted(entry: Path) -> bool:
    if entry.is_dir():
        return entry.name not in _OTHER_FOLDERS and not entry.name.startswith((".", "_"))
    return entry.suffix == ".py" and not entry.name.startswith("_") and not _TEST_FILE.match(entry.name)


def _mentions(source: Path) -> bool:
    content = _content(source)
    return b"BaseNodeSet" in content or b"StageNodeSet" in content


def _content(source: Path) -> bytes:
    """What cannot be read counts as a nodeset, so that it is listed with its error."""
    try:
        return source.read_bytes()
    except OSError:
        return b"import BaseNodeSet"


def _packages() -> Iterator[Path]:
    """The files and folders behind the entry points."""
    for name, module in _entry_points(tuple((path, _changed_at(path)) for path in sys.path)):
        place = _module_place(module)
        if place is None:
            _log.warning("entry point %s of %s: there is no module %s", name, ENTRY_POINTS, module)
        else:
            yield place


@lru_cache(maxsize=4)
def _entry_points(path: tuple[tuple[str, int], ...]) -> list[tuple[str, str]]:
    """(Name, module) of each. They are read from every installed package, so only once for a ``path`` whose
    folders are as they were: an installation changes one of them."""
    from importlib.metadata import entry_points

    return [(point.name, point.module) for point in entry_points(group=ENTRY_POINTS)]


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0


def _module_place(module: str) -> Path | None:
    """A module's file or folder. Only its top package is looked up: looking further would import that."""
    top, *rest = module.split(".")
    spec = find_spec(top)
    if spec is None:
        return None
    if not spec.submodule_search_locations:
        return Path(spec.origin) if spec.origin and not rest else None
    place = Path(spec.submodule_search_locations[0]).joinpath(*rest)
    return next((found for found in (place, place.with_suffix(".py")) if found.exists()), None)
