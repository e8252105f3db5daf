"""What a nodeset needs of the machine it runs on: answers to ``evaltower doctor``, by its own interpreter.

Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, Mapping


@dataclass(frozen=True)
class Requirement:
    """``what`` is needed, whether it is there, ``found`` (or why not), and what to do where it is not."""

    what: str
    met: bool
    found: str = ""
    remedy: str = ""


class _ForSome:
    """``when``: it is needed only where these fields, as the graph's nodes have them or as they are selected,
    match these patterns, each as a whole; what is not set is "". A field called $NAME is that variable of the
    process's environment. ``only_for`` says the same in words."""

    when: dict[str, str]
    only_for: str

    def wanted_by(self, settings: Mapping[str, object], environment: Mapping[str, str] = os.environ) -> bool:
        """Whether it is needed where the fields have these values."""
        return self.wanted_in(environment) and self._matches(
            {name: settings.get(name) for name in self.when if not name.startswith("$")}
        )

    def wanted_in(self, environment: Mapping[str, str] = os.environ) -> bool:
        """Whether it can be needed where the variables are these, whatever is selected."""
        return self._matches({name: environment.get(name[1:]) for name in self.when if name.startswith("$")})

    def _matches(self, values: Mapping[str, object]) -> bool:
        texts = {name: "" if value is None else str(value).strip() for name, value in values.items()}
        return all(re.fullmatch(self.when[name], text) for name, text in texts.items())

    def _check(self, what: str, names: object) -> None:
        if isinstance(names, str) or not names:
            raise TypeError(f"a {type(self).__name__}'s {what} are a tuple of names, not {names!r}")
        if not isinstance(self.when, dict):
            raise TypeError(f"a {type(self).__name__}'s when are patterns by field, not {self.when!r}")
        for pattern in self.when.values():
            re.compile(pattern)


@dataclass(frozen=True)
class Package(_ForSome):
    """A Python module that a nodeset imports (of several, any one), and the command that brings it.

    ``beside``: where it may lie other than on the interpreter's path, see :func:`below`. ``stands_on``: other
    modules or distributions that bear on results too. Of those that are installed, and of its own, a run's
    environment.json has the versions.
    """

    modules: tuple[str, ...]
    remedy: str
    when: dict[str, str] = field(default_factory=dict)
    only_for: str = ""
    beside: str = ""
    stands_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check("modules", self.modules)
        if self.stands_on:
            self._check("stands_on", self.stands_on)

    @property
    def name(self) -> str:
        return " or ".join(self.modules)

    @property
    def told(self) -> str:
        """As ``evaltower doctor`` calls it."""
        return _only(f"module {self.name}", self.only_for)

    def search(self) -> None:
        """Have imports look where it may lie."""
        folder = below(self.beside) if self.beside else ""
        if folder and folder not in sys.path:
            sys.path.append(folder)


@dataclass(frozen=True)
class Program(_ForSome):
    """A program that a nodeset starts (of several, any one), and the command that brings it."""

    names: tuple[str, ...]
    remedy: str
    when: dict[str, str] = field(default_factory=dict)
    only_for: str = ""

    def __post_init__(self) -> None:
        self._check("names", self.names)

    @property
    def name(self) -> str:
        return " or ".join(self.names)

    def found(self, path: str | None = None) -> str | None:
        """Where the first of them is on the PATH, or on this one; None where none is."""
        return next(filter(None, (shutil.which(name, path=path) for name in self.names)), None)

    def path(self) -> str:
        """Where it is on the PATH; FileNotFoundError, in one sentence, where it is not."""
        found = self.found()
        if found is None:
            wanted = f", for {self.only_for}" if self.only_for else ""
            raise FileNotFoundError(f"there is no {self.names[0]} on the PATH{wanted} ({self.remedy})")
        return found


@dataclass(frozen=True)
class Condition(_ForSome):
    """``what`` else has to be there, and how to get it; looked for without importing or starting anything.

    One of these: ``path``, absolute or of VARIABLE/folder (see :func:`below`), is there; the C ``library``
    ("EGL" for libEGL.so) can be found; the ``variable`` of the process's environment matches ``pattern``.
    """

    what: str
    remedy: str
    when: dict[str, str] = field(default_factory=dict)
    only_for: str = ""
    path: str = ""
    library: str = ""
    variable: str = ""
    pattern: str = ".+"

    def __post_init__(self) -> None:
        self._check("patterns", (self.pattern,))
        if len([given for given in (self.path, self.library, self.variable) if given]) != 1:
            raise TypeError(f"condition {self.what!r} is one of path, library and variable")

    @property
    def told(self) -> str:
        """As ``evaltower doctor`` calls it."""
        return _only(self.what, self.only_for)

    def wrong(self, environment: Mapping[str, str] = os.environ, python: str | None = None) -> str:
        """Why it does not hold for a process of ``python``, or of this interpreter; empty where it does."""
        if self.path:
            path = self.path if os.path.isabs(self.path) else below(self.path)
            return "" if os.path.exists(path) else f"{path} is not there"
        if self.library:
            return "" if _loads(self.library, python, environment) else f"there is no lib{self.library}.so"
        value = environment.get(self.variable, "").strip()
        if re.fullmatch(self.pattern, value):
            return ""
        return f"{self.variable} is {value!r}" if value else f"{self.variable} is not set"


def _loads(library: str, python: str | None, environment: Mapping[str, str]) -> bool:
    """As the linker's cache says, or else because a process of the interpreter can load it."""
    import subprocess  # slow to import, and only here needed

    try:
        from ctypes.util import find_library

        if find_library(library):
            return True
    except ImportError:  # an interpreter without ctypes
        pass
    names = [f"lib{library}.so", *(f"lib{library}.so.{number}" for number in range(10))]
    command = [python or sys.executable, "-c", _LOAD, *names]
    try:
        done = subprocess.run(command, capture_output=True, env=dict(environment), timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


_LOAD = """
import ctypes, os, sys
for name in sys.argv[1:]:
    try:
        ctypes.CDLL(name)
    except OSError:
        continue
    os._exit(0)
os._exit(1)
"""


def extra(name: str, variable: str) -> str:
    """The remedy for what one of Evaltower's own extras brings."""
    return f"pip install 'evaltower[{name}]', or set {variable} to an interpreter that has it"


def below(place: str, *parts: str) -> str:
    """A path of VARIABLE/folder: below the folder that the variable names, or the current one."""
    variable, _, folder = place.partition("/")
    return os.path.join(os.environ.get(variable) or os.getcwd(), *filter(None, [folder]), *parts)


def needs_module(name: str, remedy: str, only_for: str = "") -> Requirement:
    """A Python module that can really be imported: many an installed one lacks what it stands on."""
    what = _only(f"module {name}", only_for)
    try:
        module = importlib.import_module(name)
    except BaseException as error:  # whatever a foreign module does instead of being imported
        return Requirement(what, False, f"{type(error).__name__}: {error}", remedy)
    version = getattr(module, "__version__", None)
    return Requirement(what, True, version if isinstance(version, str) else "there")


def needs_package(package: Package) -> Requirement:
    """The first of its modules that can be imported; else why its first cannot be."""
    package.search()
    tried = [needs_module(name, package.remedy, package.only_for) for name in package.modules]
    return next((found for found in tried if found.met), tried[0])


def needs_path(what: str, path: str | os.PathLike[str], remedy: str) -> Requirement:
    """A file or folder."""
    there = Path(path).exists()
    return Requirement(what, there, os.fspath(path) if there else f"{os.fspath(path)} is not there", remedy)


def needs_program(program: Program) -> Requirement:
    what = _only(f"program {program.names[0]}", program.only_for)
    found = program.found()
    return Requirement(what, found is not None, found or "not on the PATH", program.remedy)


def needs_condition(condition: Condition) -> Requirement:
    wrong = condition.wrong()
    return Requirement(condition.told, not wrong, wrong or "there", condition.remedy)


def _only(what: str, only_for: str) -> str:
    return f"{what}, for {only_for} alone" if only_for else what


@contextmanager
def foreign_imports(*packages: Package) -> Iterator[None]:
    """Around the imports of libraries that may be missing: ImportError in one line, with the remedy."""
    for package in packages:
        package.search()
    try:
        yield
    except ImportError as error:
        top = (error.name or "").partition(".")[0]
        missing = [package for package in packages if top in package.modules] or packages
        remedies = "; ".join(dict.fromkeys(package.remedy for package in missing))
        hint = "`evaltower doctor` says what is missing"
        told = f"{remedies}; {hint}" if remedies else hint
        raise ImportError(f"{error}, for {sys.executable}: {told}") from None


HOST_MODULES = ("aiohttp", "msgspec", "numpy")
"""What every nodeset's interpreter has to have, to host one."""


def needs_host() -> list[Requirement]:
    return [
        needs_module(name, f"{sys.executable} -m pip install {' '.join(HOST_MODULES)}")
        for name in HOST_MODULES
    ]
