"""The processes of a run: which nodeset under which interpreter, with which log."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.components.catalog import NodesetManifest
from engine.evaluation.slots import HostSlot
from engine.hosting.process import HostProcess, HostSpec


class Launcher:
    """Makes slots whose hosts log under ``logs`` (``env_x#3.log``) and answer below ``sockets``."""

    def __init__(self, run_id: str, logs: Path, sockets: Path) -> None:
        self._run_id = run_id
        self._logs = logs
        self._sockets = sockets

    def slot(self, manifest: NodesetManifest, tag: str = "") -> HostSlot:
        """A place for ``manifest``'s host; nothing is started yet. ``tag``: ``#0`` … for one of several."""
        spec = HostSpec(
            name=manifest.name,
            path=Path(manifest.path),
            log_path=self._logs / f"{manifest.name}{tag}.log",
            socket_dir=self._sockets,
            python=manifest.server_python or sys.executable,
            env=manifest.env,
            run=f"{self._run_id}{tag}",
            workspaces=manifest.workspaces,
        )

        async def launch() -> HostProcess:
            return await HostProcess.start(spec, manifest.start_deadline_sec)

        return HostSlot(manifest, launch)
