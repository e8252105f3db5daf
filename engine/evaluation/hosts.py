"""The hosts of a run: those that its workers share, and each worker's own."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.components.catalog import NodesetManifest
from engine.evaluation.launching import Launcher
from engine.evaluation.plan import common_multiple
from engine.evaluation.slots import HostSlot
from engine.evaluation.verdict import SetupRefused
from engine.hosting.memory_guard import MemoryGuard
from engine.hosting.process import make_socket_dir
from engine.store.environment_record import BatchedRecord
from engine.store.keys import Keys


class Hosts:
    """``sockets``: a short folder, private to the run, that goes with them."""

    def __init__(self, run_id: str, logs: Path, urls: Mapping[str, str], keys: Keys) -> None:
        self._run_id = run_id
        self.sockets = make_socket_dir()
        self._launcher = Launcher(run_id, logs, self.sockets, urls, keys)
        self._replicated: list[NodesetManifest] = []
        self.shared: dict[str, HostSlot] = {}
        self.own: list[dict[str, HostSlot]] = []
        self._guard: asyncio.Task[None] | None = None

    async def start(self, nodesets: Mapping[str, NodesetManifest], before: list[BatchedRecord]) -> None:
        """Start what the first worker needs. ``before``: the regimes that must hold again, where there are
        any. Raises HostFailure."""
        self._guard = asyncio.create_task(MemoryGuard().watch())
        kinds = nodesets.values()
        self._replicated = [m for m in kinds if m.parallelism == "replicated"]
        self.shared = {m.name: self._launcher.slot(m) for m in kinds if m.parallelism == "shared"}
        for slot in self.shared.values():
            slot.expect([record for record in before if record.nodeset == slot.manifest.name])
        self.add_worker()
        await asyncio.gather(*(slot.ensure() for slot in (*self.shared.values(), *self.own[0].values())))

    def add_worker(self) -> None:
        """Places for one more worker's own; nothing is started yet."""
        tag = f"#{len(self.own)}"
        self.own.append({m.name: self._launcher.slot(m, tag) for m in self._replicated})

    @property
    def together(self) -> int | None:
        """Episodes after which all of a worker's own begin afresh at once; None where none is recycled."""
        return common_multiple(manifest.recycle_after for manifest in self._replicated)

    def all_of_first(self) -> dict[str, HostSlot]:
        return {**self.shared, **self.own[0]}

    async def metadata(
        self, env: NodesetManifest | None, selectors: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """``get_eval_metadata`` of the environment; empty where there is none. Its panel is told the run's
        ``selectors`` before: they may say which data set it is. Raises HostFailure, and SetupRefused."""
        if env is None:
            return {}
        client = (await self.all_of_first()[env.name].ensure()).connect(self._run_id)
        told = (selectors or {}) if env.parallelism == "replicated" else {}
        try:
            for name, value in told.items():
                await client.panel_field(name, value, env.first_reset_deadline_sec)
            answer = await client.metadata(env.first_reset_deadline_sec)
        finally:
            await client.close()
        if not isinstance(answer, Mapping):
            raise SetupRefused(f"{env.name}: get_eval_metadata answered {type(answer).__name__}, not a dict")
        return answer

    async def stop(self) -> None:
        """End them all."""
        if self._guard is not None:
            self._guard.cancel()
        slots = [*self.shared.values(), *(slot for own in self.own for slot in own.values())]
        await asyncio.gather(*(slot.recycle() for slot in slots))
        shutil.rmtree(self.sockets, ignore_errors=True)
