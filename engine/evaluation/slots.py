"""Places for hosts: a nodeset's process that is started when needed and replaced after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import msgspec

from engine.components.catalog import NodesetManifest
from engine.components.errors import HostCrashed, HostFailure, HostStartFailed
from engine.hosting.client import HostClient
from engine.hosting.regimes import regimes_of, with_default_config
from engine.store.environment_record import BatchedRecord

STARTS_IN_A_ROW = 3
STOP_GRACE_SEC = 5.0
CRASH_SETTLES_SEC = 2.0
TAIL_LINES = 20


class Server(Protocol):
    """What a slot holds: a HostProcess of the run's own, or a BorrowedServer, which outlives it."""

    url: str

    @property
    def returncode(self) -> int | None: ...
    def connect(self, caller: str) -> HostClient: ...
    async def stop(self, grace: float) -> None: ...
    async def kill(self, reason: str) -> None: ...
    async def ended_within(self, seconds: float) -> bool: ...
    def exit_cause(self) -> str: ...
    def tail(self, lines: int) -> list[str]: ...
    def tree_memory_mb(self) -> float: ...


class HostSlot:
    """One nodeset's place: at most one live host at a time, shared by all who hold the slot.

    A shared nodeset must come back in the regime of its first start (``manifest_there``), since rows of two
    regimes are not bit-comparable. ``played``: the positions of the episodes that the live host has begun.
    ``borrowed_from``: the URL of a server that others run; empty for processes of the run's own.
    """

    def __init__(
        self, manifest: NodesetManifest, launch: Callable[[], Awaitable[Server]], borrowed_from: str = ""
    ) -> None:
        self.manifest = manifest
        self.borrowed_from = borrowed_from
        self.manifest_there: dict[str, Any] = {}
        self.played: list[int] = []
        self._launch = launch
        self._live: Server | None = None
        self._lock = asyncio.Lock()
        self._failed_starts = 0
        self._last_failure = ""

    def expect(self, records: Sequence[BatchedRecord]) -> None:
        """Have the first start, too, held to a regime: that of rows which an earlier attempt has left."""
        if records:
            self.manifest_there = {"batching": {r.tool: msgspec.to_builtins(r) for r in records}}

    async def ensure(self) -> Server:
        """The live host, started where there is none.

        Raises HostStartFailed; at once, and without another try, after ``STARTS_IN_A_ROW`` failures in a row.
        """
        async with self._lock:
            if self._live is not None and self._live.returncode is None:
                return self._live
            await self._drop("it ended between two episodes")
            if self._failed_starts >= STARTS_IN_A_ROW:
                raise HostStartFailed(
                    f"not attempted: {self.manifest.name} failed to start {STARTS_IN_A_ROW} times in a row"
                    f" ({self._last_failure})",
                    self.manifest.name,
                    "start",
                )
            try:
                self._live = await self._launch()
                await self._compare_regimes(self._live)
            except HostFailure as failure:
                await self._drop("its start failed")
                self._failed_starts += 1
                self._last_failure = str(failure)
                raise
            self._failed_starts = 0
            self.played = []
            return self._live

    async def discard(self, host: Server, failure: HostFailure | None) -> None:
        """Kill a host that failed, or (None) was left in a call, unless it was replaced already."""
        if isinstance(failure, HostCrashed):
            await host.ended_within(CRASH_SETTLES_SEC)
        async with self._lock:
            if self._live is host:
                await self._drop(str(failure or "its episode was ended in the middle of a call"))

    async def recycle(self) -> None:
        """End the live host in good order; the next ``ensure`` starts a fresh one."""
        async with self._lock:
            host, self._live, self.played = self._live, None, []
            if host is not None:
                await host.stop(STOP_GRACE_SEC)

    def look(self) -> None:
        """Take note where the live host has ended by itself: what it had played is gone with it."""
        if self._live is not None and self._live.returncode is not None:
            self.played = []

    async def memory_mb(self) -> float:
        """Memory in MB of the live host and all that it started; 0 where there is none."""
        return await asyncio.to_thread(self._live.tree_memory_mb) if self._live is not None else 0.0

    async def _drop(self, reason: str) -> None:
        host, self._live, self.played = self._live, None, []
        if host is not None:
            await host.kill(reason)

    async def _compare_regimes(self, host: Server) -> None:
        client = host.connect("")
        try:
            there = await client.manifest(self.manifest.start_deadline_sec)
        finally:
            await client.close()
        there["batching"] = with_default_config(there.get("batching", {}))  # what every run finds there
        before, now = regimes_of(self.manifest_there), regimes_of(there)
        if self.manifest_there and before != now:
            raise HostStartFailed(
                f"{self.manifest.name} came back in another regime, {now} after {before}:"
                " its rows would not be bit-comparable",
                self.manifest.name,
                "start",
            )
        self.manifest_there = there


def post_mortem(failure: HostFailure, host: Server | None) -> dict[str, Any]:
    """What is known of a failed call: ``{nodeset, call, cause, stderr_tail[], detail}``."""
    return {
        "nodeset": failure.nodeset,
        "call": failure.call,
        "cause": failure.cause or (host.exit_cause() if host is not None else ""),
        "stderr_tail": host.tail(TAIL_LINES) if host is not None else [],
        "detail": failure.detail,
    }
