"""Import a nodeset from where it lies, and say which source that was.

A nodeset is a file, or a folder with an ``__init__.py``. Its module is called ``_nodeset_<stem>``, so that a
nodeset named after the library that it wraps does not stand in for it. It reaches the modules beside it by
relative import (``from .house import House``) or by their bare name (``import house``). A folder below a
``nodesets`` folder may also go by AgentCanvas's absolute names: it is ``workspace.nodesets.…`` to itself.
Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from hashlib import blake2b
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Iterator, Sequence

from engine.components.agentcanvas.finder import expose
from engine.components.bases import BaseNodeSet

_WHOLE_BELOW = 4 << 20
_SAMPLE = 1 << 20


def load_nodeset(path: Path | str, name: str, workspaces: Sequence[str] = ()) -> BaseNodeSet:
    """The nodeset of this name in a file or folder, constructed. ImportError names what is there instead.

    Whatever the file raises on import, or the class when constructed, is passed on. ``workspaces``: where
    ``workspace.…`` is looked for after the nodeset's own.
    """
    classes = load_classes(path, workspaces)
    for found in classes:
        if getattr(found, "name", None) == name:
            return found()
    names = ", ".join(repr(getattr(found, "name", found.__name__)) for found in classes) or "none"
    raise ImportError(f"{path}: no nodeset named {name!r}; nodesets there: {names}")


def load_classes(path: Path | str, workspaces: Sequence[str] = ()) -> list[type[BaseNodeSet]]:
    """Import a nodeset file or folder; its nodeset classes in order of definition.

    Those that begin with an underscore, come from elsewhere, or are abstract and nameless do not count.
    """
    home = nodeset_home(path)
    module = _import(home, workspaces)
    found: list[type[BaseNodeSet]] = []
    for value in vars(module).values():
        if (
            inspect.isclass(value)
            and issubclass(value, BaseNodeSet)
            and (hasattr(value, "name") or not inspect.isabstract(value))
            and not value.__name__.startswith("_")
            and value not in found
            and _defined_in(home, module, value)
        ):
            found.append(value)
    return found


def nodeset_home(path: Path | str) -> Path:
    """The file, or the folder where its ``__init__.py`` was named; absolute."""
    absolute = Path(os.path.abspath(path))
    return absolute.parent if absolute.name == "__init__.py" else absolute


def source_hash(path: Path | str) -> str:
    """32 hex digits over what a nodeset is made of.

    A folder: every file's name and content, but its saved graphs, caches and hidden files. A file: itself and
    the ``_*.py`` helpers beside it. Of a file above 4 MiB (weights): its size, first MiB and last MiB.
    OSError where it cannot be read.
    """
    home = nodeset_home(path)
    digest = blake2b(digest_size=16)
    for name, file in _sources(home):
        content = _content(file)
        for part in (name.encode("utf-8", "surrogateescape"), content):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _import(home: Path, workspaces: Sequence[str]) -> ModuleType:
    source = home / "__init__.py" if home.is_dir() else home
    own = next((folder.parent for folder in home.parents if folder.name == "nodesets"), None)
    expose([*filter(None, [own]), *map(Path, workspaces)])
    name = _module_name(home, own)
    # Bytecode is checked by size and whole seconds: a nodeset edited twice in one second would run as it was.
    sys.dont_write_bytecode = True
    sys.meta_path.append(_Siblings(source))
    spec = spec_from_file_location(name, source, submodule_search_locations=[str(source.parent)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{source}: not a Python file")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _module_name(home: Path, workspace: Path | None) -> str:
    """A folder's absolute name, so that it and its helpers exist once, however they import each other."""
    if workspace is not None and home.is_dir():
        parts = ("workspace", *home.relative_to(workspace).parts)
        if all(part.isidentifier() for part in parts):
            return ".".join(parts)
    return "_nodeset_" + re.sub(r"\W", "_", home.stem)


class _Siblings:
    """Finds, after everything installed, the modules beside a nodeset; never its file as a library."""

    def __init__(self, source: Path) -> None:
        self._folder = [str(source.parent)]
        self._nodeset = source.stem

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None or fullname == self._nodeset:
            return None
        return PathFinder.find_spec(fullname, self._folder, target)


def _defined_in(home: Path, module: ModuleType, found: type) -> bool:
    if found.__module__ == module.__name__:
        return True
    file = getattr(sys.modules.get(found.__module__), "__file__", None)
    return home.is_dir() and file is not None and home in Path(file).parents


def _sources(home: Path) -> Iterator[tuple[str, Path]]:
    """(name as hashed, file), in order of names."""
    if not home.is_dir():
        yield home.name, home
        for helper in sorted(home.parent.glob("_*.py")):
            if helper != home and helper.name != "__init__.py":
                yield helper.name, helper
        return
    names: list[str] = []
    for folder, below, files in os.walk(home):
        inside = os.path.relpath(folder, home)
        below[:] = [d for d in below if d[0] != "." and d != "__pycache__" and (inside, d) != (".", "graphs")]
        names += [os.path.normpath(os.path.join(inside, f)) for f in files if f[0] != "."]
    for name in sorted(names):
        if (home / name).is_file():
            yield name, home / name


def _content(file: Path) -> bytes:
    size = file.stat().st_size
    if size <= _WHOLE_BELOW:
        return file.read_bytes()
    with file.open("rb") as stream:
        head = stream.read(_SAMPLE)
        stream.seek(-_SAMPLE, os.SEEK_END)
        return size.to_bytes(8, "big") + head + stream.read()
