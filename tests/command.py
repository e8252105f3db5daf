"""The command line as an operator has it, in a root of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import engine

DEADLINE_SEC = 900.0


def invoke(root: Path, *words: str, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    """``evaltower --root ROOT …``; ``cache`` keeps what is known of nodesets for other roots."""
    return subprocess.run(
        [sys.executable, "-m", "engine.main", "--root", str(root), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_SEC,
        cwd=Path(engine.__file__).parent.parent,
        env={**os.environ, "XDG_CACHE_HOME": str(cache or root / "cache")},
    )


def evaltower(root: Path, *words: str, cache: Path | None = None) -> tuple[int, Path, dict[str, Any]]:
    """``evaltower run … --json`` as the root's only run: exit code, the run's folder, its summary."""
    done = invoke(root, "run", *words, "--json", cache=cache)
    assert done.stdout, done.stderr
    json.loads(done.stdout)
    (run,) = (root / "outputs" / "eval_runs").glob("2*")
    assert (run / "_DONE").is_file()
    return done.returncode, run, json.loads((run / "summary.json").read_text("utf-8"))
