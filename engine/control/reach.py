"""Secrets and keys that the caller has, and a run would not: it has the environment of its backend."""

from __future__ import annotations

import os
from pathlib import Path

from engine.scoring.secrets import set_in
from engine.store.settings import SettingsError, read_settings

ELSEWHERE = "end the backend and start it where the variable is set"


def only_here(variable: str) -> str:
    """What is said of a variable that the caller has set, and this process, the backend, has not."""
    return (
        f"{variable} is set here, and not for the backend, process {os.getpid()},"
        " whose environment the run has"
    )


def set_here(root: Path) -> list[str]:
    """The variables with secrets, and with keys of models, that are set in this process."""
    try:
        profiles = read_settings(root).profiles
    except SettingsError:  # told where a graph is checked
        profiles = {}
    keys = {profile.api_key_env for profile in profiles.values() if profile.api_key_env}
    return sorted({*set_in(), *(name for name in keys if os.environ.get(name, "").strip())})
