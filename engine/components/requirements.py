"""What a nodeset needs of the machine it runs on: answers to ``evaltower doctor``, by its own interpreter.

Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator


@dataclass(frozen=True)
class Requirement:
    """``what`` is needed, whether it is there, ``found`` (or why not), and what to do where it is not."""

    what: str
    met: bool
    found: str = ""
    remedy: str = ""


def needs_module(name: str, remedy: str) -> Requirement:
    """A Python module that can really be imported: many an installed one lacks what it stands on."""
    what = f"module {name}"
    try:
        module = importlib.import_module(name)
    except BaseException as error:  # whatever a foreign module does instead of being imported
        return Requirement(what, False, f"{type(error).__name__}: {error}", remedy)
    version = getattr(module, "__version__", None)
    return Requirement(what, True, version if isinstance(version, str) else "there")


def needs_path(what: str, path: str | os.PathLike[str], remedy: str) -> Requirement:
    """A file or folder."""
    there = Path(path).exists()
    return Requirement(what, there, os.fspath(path) if there else f"{os.fspath(path)} is not there", remedy)


def needs_program(names: list[str], remedy: str) -> Requirement:
    """A program on the PATH: the first of ``names`` that there is."""
    found = next(filter(None, map(shutil.which, names)), None)
    return Requirement(f"program {names[0]}", found is not None, found or "not on the PATH", remedy)


@contextmanager
def foreign_imports() -> Iterator[None]:
    """Around the imports of a library that may be missing: ImportError in one line, with the remedy."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{error}, for {sys.executable}: `evaltower doctor` says what is missing") from None


def needs_host() -> list[Requirement]:
    """What every nodeset's interpreter has to have, to host one."""
    modules = ("aiohttp", "msgspec", "numpy")
    return [needs_module(name, f"{sys.executable} -m pip install {' '.join(modules)}") for name in modules]
