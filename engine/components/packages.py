"""Which packages of nodesets are not there, looked up by the interpreters that will host them.

Nothing is imported: an interpreter only says where it would find a module. What is found is kept, until a
folder that the interpreter looks in changes; what is not found is looked for anew each time.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec

from engine.components.catalog import NodesetManifest
from engine.components.manifest_cache import default_cache_dir
from engine.components.requirements import HOST_MODULES, Package, below

_log = logging.getLogger(__name__)
DEADLINE_SEC = 20.0
_TO_HOST = [Package((name,), f"pip install {' '.join(HOST_MODULES)}") for name in HOST_MODULES]
_ASK = """
import json, sys
from importlib.machinery import PathFinder
from importlib.util import find_spec

names, folders = json.loads(sys.argv[1])
sys.path[:] = [folder for folder in sys.path if folder] + folders

def there(name):
    top, *below = name.split(".")
    try:
        spec = find_spec(top)
        for part in below:
            top += "." + part
            spec = spec and PathFinder.find_spec(top, spec.submodule_search_locations or [])
    except (ImportError, ValueError, AttributeError):
        return False
    return spec is not None

print(json.dumps({"path": sys.path, "found": [name for name in names if there(name)]}))
"""


class _Answer(msgspec.Struct):
    path: list[str]
    found: list[str]


class _Kept(msgspec.Struct):
    """``changed``: when each folder that was looked in, and the interpreter itself, last changed."""

    changed: dict[str, int | None]
    found: list[str]


def absent_packages(
    needed: Iterable[tuple[NodesetManifest, Sequence[Package]]], cache_dir: Path | None = None
) -> list[tuple[NodesetManifest, Package]]:
    """Those of the packages that the nodesets' interpreters do not find, and what those lack to host at all.

    Of an interpreter that does not answer nothing is said.
    """
    absent: list[tuple[NodesetManifest, Package]] = []
    for manifest, own in needed:
        packages = [*(_TO_HOST if manifest.server_python else ()), *own]
        found = _found(manifest, packages, cache_dir or default_cache_dir()) if packages else set()
        if found is not None:
            absent += [(manifest, one) for one in packages if not found & set(one.modules)]
    return absent


def _found(manifest: NodesetManifest, packages: Sequence[Package], cache_dir: Path) -> set[str] | None:
    """Those of the packages' modules that are there; None where the interpreter does not answer."""
    python = manifest.server_python or sys.executable
    names = sorted({name for package in packages for name in package.modules})
    folders = sorted({below(package.beside) for package in packages if package.beside})
    env = {**os.environ, **manifest.env}
    key = msgspec.json.encode([python, folders, env.get("PYTHONPATH"), env.get("PYTHONHOME")])
    file = cache_dir / f"packages-{blake2b(key, digest_size=16).hexdigest()}.json"
    kept = _read(file)
    if kept is None or kept.changed != _changed(kept.changed):
        kept = _Kept({}, [])
    if all(set(kept.found) & set(package.modules) for package in packages):
        return set(kept.found)
    answer = _ask(python, names, folders, env)
    if answer is None:
        return None
    found = {*kept.found, *answer.found}
    _write(file, _Kept(_changed([python, *answer.path]), sorted(found)))
    return found


def _ask(python: str, names: Sequence[str], folders: Sequence[str], env: Mapping[str, str]) -> _Answer | None:
    try:
        done = subprocess.run(
            [python, "-c", _ASK, json.dumps([names, folders])],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=env,
            timeout=DEADLINE_SEC,
            check=False,
        )
        return msgspec.json.decode(done.stdout.strip().rpartition(b"\n")[2], type=_Answer)
    except (OSError, subprocess.TimeoutExpired, msgspec.MsgspecError) as error:
        _log.warning("%s does not say which modules it finds: %s", python, error)
        return None


def _changed(paths: Iterable[str]) -> dict[str, int | None]:
    return {path: _changed_at(path) for path in paths}


def _changed_at(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _read(file: Path) -> _Kept | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Kept)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _write(file: Path, kept: _Kept) -> None:
    """A cache that cannot be written is none."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.json.encode(kept))
        os.replace(temporary, file)
    except OSError as error:
        _log.warning("which packages are there cannot be kept in %s: %s", file.parent, error)
