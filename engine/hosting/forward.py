"""Calling a batched tool: in the one thread where models run, and with its reply checked. Python 3.8+."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Awaitable, Callable, Sequence, TypeVar

from engine.components.bases import BaseCanvasNode
from engine.components.context import NodeContext
from engine.hosting import numerics

T = TypeVar("T")


class BadOutput(Exception):
    """A batched tool's reply breaks its contract; the message names the tool."""


class BatchContext(NodeContext):
    """The context of a batch: it belongs to no episode, so it has neither containers nor a generator."""

    def __init__(self) -> None:
        super().__init__({}, step=0, execution_id="", key=0)

    @property
    def rng(self) -> Any:
        raise RuntimeError('a batched tool has no generator of its own: draw from each sample\'s "_key"')


class ForwardThread:
    """One thread, and an event loop of its own, in which coroutines run to completion one after the other.

    The caller's loop stays free meanwhile. Numerics are pinned in this thread, since torch's thread count
    holds for the thread that sets it.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "forward")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pinned = False

    async def run(self, function: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Await ``function(*args)`` in the thread; what it raises is raised here."""
        return await asyncio.get_running_loop().run_in_executor(
            self._executor, self._complete, function, args
        )

    async def close(self) -> None:
        """End the thread once what is under way is done."""
        await asyncio.get_running_loop().run_in_executor(self._executor, self._close_loop)
        self._executor.shutdown(wait=False)

    def _complete(self, function: Callable[..., Awaitable[T]], args: Sequence[Any]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        self._pinned = self._pinned or numerics.pin_torch()
        return self._loop.run_until_complete(function(*args))

    def _close_loop(self) -> None:
        if self._loop is not None:
            self._loop.close()


async def forward_rows(
    tool: BaseCanvasNode, samples: Sequence[dict[str, Any]], shape: int | None = None
) -> list[dict[str, Any]]:
    """One call of ``tool.forward`` for ``samples``; outputs in their order.

    shape: rows that the call has in all; the missing ones are copies of the first sample, whose outputs are
    dropped. Raises BadOutput, or whatever ``forward`` raises.
    """
    padding = [samples[0]] * (shape - len(samples)) if shape is not None else []
    batch = [dict(sample) for sample in [*samples, *padding]]
    try:
        reply = await tool.forward({"_samples": batch}, BatchContext())
    finally:
        tool.take_inner_log()
    outputs = reply.get("_outputs") if isinstance(reply, dict) else None
    if not isinstance(outputs, (list, tuple)):
        got = (
            f"{type(outputs).__name__} as _outputs"
            if isinstance(reply, dict)
            else f"a {type(reply).__name__}"
        )
        raise BadOutput(
            f'{tool.node_type}: forward of a batched tool must return {{"_outputs": [...]}}, '
            f"one dict of outputs a sample, but returned {got}"
        )
    if len(outputs) != len(batch):
        raise BadOutput(
            f"{tool.node_type}: forward returned {len(outputs)} _outputs for {len(batch)} _samples"
        )
    for index, output in enumerate(outputs):
        if not isinstance(output, dict):
            raise BadOutput(
                f"{tool.node_type}: _outputs[{index}] must be a dict of outputs by port name, "
                f"not {type(output).__name__}"
            )
    return list(outputs[: len(samples)])
