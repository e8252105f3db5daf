"""The environment in which a Python process of ours finds us."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import engine


def importable(environment: Mapping[str, str]) -> dict[str, str]:
    """``environment`` such that ``python -m engine.…`` finds us in whatever folder it starts, also where we
    run from a checkout."""
    home = Path(engine.__file__).parents[1]
    if home == Path(sysconfig.get_path("purelib")):
        return dict(environment)
    before = environment.get("PYTHONPATH")
    return {**environment, "PYTHONPATH": f"{home}{os.pathsep}{before}" if before else str(home)}
