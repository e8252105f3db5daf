"""Calls of several callers to one batched tool, gathered into forwards. Python 3.8+.

When a batch leaves is :mod:`engine.hosting.departure`'s; what it may look like is
:mod:`engine.hosting.selfcheck`'s.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from typing import Any, Dict, NamedTuple, Tuple

from engine.components.bases import BaseCanvasNode
from engine.hosting import numerics
from engine.hosting.departure import Departure
from engine.hosting.forward import ForwardThread, forward_rows
from engine.hosting.selfcheck import Verdict, check

log = logging.getLogger(__name__)

Answer = Tuple[Dict[str, Any], float, float]


class _Row:
    """A request that waits."""

    __slots__ = ("answer", "arrived", "caller", "inputs")

    def __init__(self, inputs: dict[str, Any], caller: str | None, answer: asyncio.Future[Answer]) -> None:
        self.inputs = inputs
        self.caller = caller
        self.answer = answer
        self.arrived = time.monotonic()


class _Served(NamedTuple):
    """Each row's outputs or error, when its forward began (monotonic, in s) and how long that took."""

    rows: list[dict[str, Any] | Exception]
    began: float
    compute_ms: float


class Batcher:
    """Serves one (tool, config) to any number of callers.

    tool: the prototype; a copy of it serves, with ``config`` (defaults already merged) and initialised
    once. max_batch: rows that a forward takes at most. unchecked: batch freely without the self-check.
    thread: where models run, shared by the batchers of a process, since only one of them should compute at
    a time; its own if None.

    ``record`` holds, once loaded, what the results depend on: ``{regime, label, why, shape, rows, elements,
    digest, check_ms, threads, cpu, versions, mkl_cbwr}``; :class:`engine.hosting.selfcheck.Verdict`
    explains the first eight, :func:`engine.hosting.numerics.describe` the rest.
    """

    def __init__(
        self,
        tool: BaseCanvasNode,
        config: dict[str, Any],
        *,
        max_batch: int,
        unchecked: bool,
        thread: ForwardThread | None = None,
    ) -> None:
        if max_batch < 1:
            raise ValueError(f"{tool.node_type}: max_batch must be at least 1, not {max_batch}")
        self._tool = copy.copy(tool)
        self._tool.config = dict(config)
        self._max_batch = max_batch
        self._unchecked = unchecked
        self._own_thread = thread is None
        self._thread = thread or ForwardThread()
        self._verdict = Verdict("rows", "exact")
        self._departure = Departure()
        self._waiting: list[_Row] = []
        self._idle_since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._forward: asyncio.Task[None] | None = None
        self._loading: asyncio.Future[None] | None = None
        self._closed = False
        self.record: dict[str, Any] = {}

    async def load(self) -> None:
        """Initialise the tool and choose its regime. Awaited by several, it happens once.

        Raises SelfCheckError or BadOutput where the tool cannot serve, or what its ``initialize`` raises.
        """
        if self._loading is None:
            self._loading = asyncio.ensure_future(self._load())
        await asyncio.shield(self._loading)

    async def submit(self, inputs: dict[str, Any], caller: str | None) -> Answer:
        """``(outputs, queue_wait_ms, compute_ms)`` of one row; compute_ms is that of its whole batch.

        inputs: with their ``_key``. caller: ``run/worker``, or None. Raises what ``forward`` raises for
        this row when it is alone. Cancelling takes the row out of the queue.
        """
        if self._closed or not self.record:
            raise RuntimeError(
                f"{self._tool.node_type}: {'closed' if self._closed else 'load() comes first'}"
            )
        row = _Row(inputs, caller, asyncio.get_running_loop().create_future())
        self._departure.sent(caller, row.arrived)
        self._waiting.append(row)
        self._consider()
        try:
            return await row.answer
        except asyncio.CancelledError:
            self._withdraw(row)
            raise

    def caller(self, id: str, live: bool) -> None:
        """``id`` starts stepping, and is waited for; or it stops (it resets, scores or ends), and is not."""
        self._departure.announce(id, live, time.monotonic())
        self._consider()

    async def close(self) -> None:
        """Fail what waits, let the forward under way finish, and shut the tool down."""
        self._closed = True
        waiting, self._waiting = self._waiting, []
        self._consider()
        for row in waiting:
            _answer(row, RuntimeError(f"{self._tool.node_type}: closed while the row waited"))
        if self._forward is not None:
            await self._forward
        if self.record:
            await self._thread.run(self._tool.shutdown)
        if self._own_thread:
            await self._thread.close()

    async def _load(self) -> None:
        self._verdict, record = await self._thread.run(self._prepare)
        full = 1 if self._verdict.regime == "rows" else self._max_batch
        self._departure.calibrate(full, self._verdict.per_row, self._verdict.fixed)
        self.record = record
        log.info("%s: regime %s %s", self._tool.node_type, self._verdict.regime, self._verdict.why)

    async def _prepare(self) -> tuple[Verdict, dict[str, Any]]:
        """In the forward thread."""
        await self._tool.initialize()
        verdict = await check(self._tool, self._max_batch, self._unchecked)
        return verdict, {**verdict.record(), **numerics.describe()}

    def _withdraw(self, row: _Row) -> None:
        if row in self._waiting:
            self._waiting.remove(row)
            self._departure.answered(row.caller, time.monotonic())
            self._consider()

    def _consider(self) -> None:
        """Send the waiting rows off, or look again later. Called whenever something changed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._forward is not None or not self._waiting:
            return
        oldest = max(self._waiting[0].arrived, self._idle_since)
        hold = self._departure.hold([row.caller for row in self._waiting], oldest, time.monotonic())
        loop = asyncio.get_running_loop()
        if hold > 0.0:
            self._timer = loop.call_later(hold, self._consider)
            return
        batch, self._waiting = self._waiting[: self._max_batch], self._waiting[self._max_batch :]
        self._forward = loop.create_task(self._depart(batch))

    async def _depart(self, batch: list[_Row]) -> None:
        left = time.monotonic()
        try:
            served = await self._thread.run(self._serve, [row.inputs for row in batch])
        except Exception as error:
            served = _Served([error] * len(batch), left, 0.0)
        self._idle_since = time.monotonic()
        self._departure.measured(len(batch), self._idle_since - left)
        for row, outcome in zip(batch, served.rows):
            self._departure.answered(row.caller, self._idle_since)
            if isinstance(outcome, Exception):
                _answer(row, outcome)
            else:
                _answer(row, (outcome, (served.began - row.arrived) * 1e3, served.compute_ms))
        self._forward = None
        self._consider()

    async def _serve(self, samples: list[dict[str, Any]]) -> _Served:
        """In the forward thread: all rows in one call where the regime allows it, alone if that raises."""
        began = time.monotonic()
        rows: list[dict[str, Any] | Exception] | None = None
        if self._verdict.regime != "rows" and len(samples) > 1:
            try:
                rows = [*await forward_rows(self._tool, samples, self._verdict.shape)]
            except Exception as error:
                log.warning(
                    "%s: %s: %s in a batch of %d; its rows run one by one",
                    self._tool.node_type,
                    type(error).__name__,
                    error,
                    len(samples),
                )
        if rows is None:
            rows = [await self._alone(sample) for sample in samples]
        return _Served(rows, began, (time.monotonic() - began) * 1e3)

    async def _alone(self, sample: dict[str, Any]) -> dict[str, Any] | Exception:
        try:
            return (await forward_rows(self._tool, [sample], self._verdict.shape))[0]
        except Exception as error:
            return error


def _answer(row: _Row, outcome: Answer | Exception) -> None:
    if row.answer.done():
        return
    if isinstance(outcome, Exception):
        row.answer.set_exception(outcome)
    else:
        row.answer.set_result(outcome)
