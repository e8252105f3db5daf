"""Other interpreters on this machine, each with a cached virtual environment that can host a nodeset."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

PACKAGES = ("aiohttp", "msgspec", "numpy")


def find(minor: int | None) -> Path | None:
    """The newest CPython 3.``minor`` among pyenv's and those on the PATH; the newest of all for None."""
    found = {version: path for version, path in _all() if minor is None or version[1] == minor}
    return found[max(found)] if found else None


def host_python(interpreter: Path, cache: Path) -> Path:
    """The interpreter of a virtual environment of it with what a host needs; made once, in ``cache``."""
    home = cache / re.sub(r"\W+", "_", str(interpreter))
    python, complete = home / "bin" / "python", home / "complete"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            shutil.rmtree(home, ignore_errors=True)
            subprocess.run([interpreter, "-m", "venv", home], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
            complete.touch()
    return python


def _all() -> list[tuple[tuple[int, ...], Path]]:
    roots = {Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")), Path.home() / ".pyenv"}
    installed = [python for root in roots for python in root.glob("versions/3.*/bin/python")]
    on_path = [
        python
        for folder in os.get_exec_path()
        for python in Path(folder).glob("python3.*")
        if re.fullmatch(r"python3\.\d+", python.name)
    ]
    return [(version, python) for python in [*on_path, *installed] if (version := _version(python))]


def _version(python: Path) -> tuple[int, ...] | None:
    """Its version, where it starts (a shim of pyenv may name a version that is not active)."""
    asked = subprocess.run(
        [python, "-c", "import sys; print(*sys.version_info[:3])"],
        capture_output=True,
        text=True,
        check=False,
    )
    return tuple(map(int, asked.stdout.split())) if asked.returncode == 0 else None
