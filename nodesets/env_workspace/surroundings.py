"""The environment variables of a case's commands, without Evaltower's secrets and the user's git."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Mapping

import engine

FOLDER = "EVALTOWER_WORKSPACE"
"""Holds the absolute path of the episode's folder."""

_OURS = str(Path(engine.__file__).resolve().parent.parent)
_SECRET = "EVALTOWER_SECRET_"
_TRANSPORT = ("GIT_SSH", "GIT_SSL_", "GIT_ASKPASS", "GIT_PROXY_COMMAND")
_WHEN = "2000-01-01T00:00:00+0000"

_GIT_CONFIG = {
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.quotePath": "false",
    "init.defaultBranch": "main",
}
_GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_CONFIG_COUNT": str(len(_GIT_CONFIG)),
    **{f"GIT_CONFIG_KEY_{n}": key for n, key in enumerate(_GIT_CONFIG)},
    **{f"GIT_CONFIG_VALUE_{n}": value for n, value in enumerate(_GIT_CONFIG.values())},
    **{f"GIT_{who}_NAME": "Evaltower" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "evaltower@localhost" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": _WHEN for who in ("AUTHOR", "COMMITTER")},
}


def surroundings(inherited: Mapping[str, str], folder: Path, temporary: Path) -> dict[str, str]:
    """What a command gets: what we inherited, but for secrets, our own import path, and the user's git."""
    kept = {name: value for name, value in inherited.items() if not _is_withheld(name)}
    paths = [path for path in inherited.get("PYTHONPATH", "").split(os.pathsep) if path]
    theirs = [path for path in paths if os.path.realpath(path) != _OURS]
    kept.pop("PYTHONPATH", None)
    if theirs:
        kept["PYTHONPATH"] = os.pathsep.join(theirs)
    # Bytecode is checked by size and whole seconds: a file edited twice in one second would run as it was.
    kept.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    return {**kept, **_GIT, "TMPDIR": str(temporary), "PWD": str(folder), FOLDER: str(folder)}


def _is_withheld(name: str) -> bool:
    return name.startswith(_SECRET) or (name.startswith("GIT_") and not name.startswith(_TRANSPORT))
