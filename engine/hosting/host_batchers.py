"""The batchers of a host: one per (batched tool, config), made when first asked for. Python 3.8+."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Mapping

from engine.components.bases import BaseCanvasNode, BaseNodeSet
from engine.hosting.batching import Batcher
from engine.hosting.forward import ForwardThread


class Batchers:
    """All models of the process compute in one thread, one after the other."""

    def __init__(self, nodeset: BaseNodeSet) -> None:
        self._nodeset = nodeset
        self._thread = ForwardThread()
        self._loading: dict[str, asyncio.Future[Batcher]] = {}
        self._live_callers: set[str] = set()

    async def get(self, tool: BaseCanvasNode, config: Mapping[str, Any]) -> Batcher:
        """The batcher of this tool and config, loaded and checked; raises each time what prevented it."""
        label = _label(tool, config)
        if label not in self._loading:
            self._loading[label] = asyncio.ensure_future(self._load(tool, config))
        return await asyncio.shield(self._loading[label])

    def caller(self, caller: str, live: bool) -> None:
        """A caller starts, or stops, sending rows: batches wait for the live ones."""
        (self._live_callers.add if live else self._live_callers.discard)(caller)
        for batcher in self._loaded().values():
            batcher.caller(caller, live)

    def forget(self, prefix: str) -> None:
        """None of the callers whose names begin so sends any more."""
        for caller in [name for name in self._live_callers if name.startswith(prefix)]:
            self.caller(caller, False)

    def records(self) -> dict[str, Any]:
        """How each was found to run, by tool (and by config, where it differs from the tool's default)."""
        return {label: batcher.record for label, batcher in self._loaded().items()}

    async def close(self) -> None:
        for batcher in self._loaded().values():
            await batcher.close()
        await self._thread.close()

    async def _load(self, tool: BaseCanvasNode, config: Mapping[str, Any]) -> Batcher:
        batcher = Batcher(
            tool,
            dict(tool.default_config, **config),
            max_batch=self._nodeset.max_batch,
            unchecked=self._nodeset.unchecked,
            thread=self._thread,
        )
        await batcher.load()
        for caller in self._live_callers:
            batcher.caller(caller, True)
        return batcher

    def _loaded(self) -> dict[str, Batcher]:
        return {
            label: loading.result()
            for label, loading in self._loading.items()
            if loading.done() and loading.exception() is None
        }


def _label(tool: BaseCanvasNode, config: Mapping[str, Any]) -> str:
    """Equal for equal configs only: what differs from the default is written out."""
    changed = {key: value for key, value in config.items() if (key, value) not in tool.default_config.items()}
    return f"{tool.node_type} {json.dumps(changed, sort_keys=True)}" if changed else tool.node_type
