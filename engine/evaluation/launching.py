"""The servers of a run: processes of its own, under which interpreter, with which log; or borrowed ones."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from engine.components.catalog import NodesetManifest
from engine.components.errors import HostStartFailed
from engine.evaluation.slots import HostSlot, Server
from engine.hosting.borrowed import BorrowedServer
from engine.hosting.process import HostProcess, HostSpec
from engine.store.keys import Keys


class Launcher:
    """Makes slots whose hosts log under ``logs`` (``env_x#3.log``) and answer below ``sockets``.

    ``urls``: where nodesets that are borrowed answer. ``keys``: those that some of them are given.
    """

    def __init__(self, run_id: str, logs: Path, sockets: Path, urls: Mapping[str, str], keys: Keys) -> None:
        self._run_id = run_id
        self._logs = logs
        self._sockets = sockets
        self._urls = urls
        self._keys = keys

    def slot(self, manifest: NodesetManifest, tag: str = "") -> HostSlot:
        """A place for ``manifest``'s host; nothing is started yet. ``tag``: ``#0`` … for one of several."""
        url = self._urls.get(manifest.name, "")
        launch = self._borrow(manifest, url) if url else self._own(manifest, tag)
        return HostSlot(manifest, launch, url)

    def _own(self, manifest: NodesetManifest, tag: str) -> Callable[[], Awaitable[Server]]:
        spec = HostSpec(
            name=manifest.name,
            path=Path(manifest.path),
            log_path=self._logs / f"{manifest.name}{tag}.log",
            socket_dir=self._sockets,
            python=manifest.server_python or sys.executable,
            env={**self._keys.of_nodeset(manifest.name), **manifest.env},
            run=f"{self._run_id}{tag}",
            workspaces=manifest.workspaces,
            ram_mb=manifest.expected_ram_mb or (None if manifest.parallelism == "shared" else 0),
        )

        async def launch() -> Server:
            return await HostProcess.start(spec, manifest.start_deadline_sec)

        return launch

    def _borrow(self, manifest: NodesetManifest, url: str) -> Callable[[], Awaitable[Server]]:
        last: BorrowedServer | None = None

        async def reach() -> Server:
            """A model's server is asked again after a failure; an environment may be amid a call still."""
            nonlocal last
            if last is not None and last.left_because and manifest.parallelism == "replicated":
                told = f"{manifest.name} at {url} is not used again: {last.left_because}"
                raise HostStartFailed(told, manifest.name, "start")
            last = await BorrowedServer.reach(manifest.name, url)
            return last

        return reach
