"""Starting something under a shim of its own: see :mod:`engine.scheduling.shim`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.scheduling.launching import LaunchError
from engine.store.attempts import LOGS, MARK, Attempt
from engine.store.backend_lock import record_path
from engine.store.importable import importable
from engine.store.process_identity import ProcessIdentity, identity
from engine.store.settings import Admission

SHIM = Path(__file__).parents[1] / "shim.py"


@dataclass(frozen=True)
class Graces:
    """How a shim ends what is below it. backend: the ``backend.json`` whose backend it follows; None follows
    nobody. grace_sec: between asking and killing. orphan_grace_sec: how long it goes on without a backend.
    """

    backend: Path | None
    grace_sec: float
    orphan_grace_sec: float

    @classmethod
    def of(cls, root: Path, settings: Admission) -> Graces:
        """Those of a root's backend."""
        return cls(record_path(root), settings.grace, settings.orphan_grace)


@dataclass(frozen=True)
class Spawned:
    """A shim that was started here. ``process`` must be polled, so that it does not stay as a zombie."""

    process: subprocess.Popen[bytes]
    identity: ProcessIdentity


def spawn_shim(
    attempt: Attempt,
    command: Sequence[str],
    *,
    graces: Graces,
    mark: str,
    cwd: Path,
    environment: Mapping[str, str],
) -> Spawned:
    """Start ``command`` under a shim, in a session of its own, with empty stdin, its output in the attempt's
    logs.

    mark: by which its processes are known, whatever they do but clear their environment. environment: over
    this process's. From any thread: a shim does not end with the one that started it. Raises OSError, and
    LaunchError where it ended at once.
    """
    attempt.lay_out()
    backend = str(graces.backend.absolute()) if graces.backend else ""
    shim = [sys.executable, "-S", "-E", "-P", str(SHIM), str(attempt.path.absolute()), backend]
    shim += [str(graces.grace_sec), str(graces.orphan_grace_sec), "--"]
    with open(attempt.path / LOGS[0], "ab") as out, open(attempt.path / LOGS[1], "ab") as err:
        process = subprocess.Popen(
            [*shim, *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=cwd,
            env={**importable(os.environ), **environment, MARK: mark},
            start_new_session=True,
        )
    try:
        return Spawned(process, identity(process.pid))
    except ProcessLookupError:
        raise LaunchError(
            f"its shim ended at once, exit code {process.wait()}: see {attempt.stderr}"
        ) from None


def cards_environment(visible: Sequence[str] | None) -> dict[str, str]:
    """What makes only these cards visible, by UUID; None leaves it to what this process sees."""
    if visible is None:
        return {}
    return {"CUDA_VISIBLE_DEVICES": ",".join(visible), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
