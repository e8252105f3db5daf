"""Does a row get the same bits whoever shares its batch? Asked of the model when it is loaded. Python 3.8+.

Batch invariance is promised by no library, and depends on processor, threads, shapes and versions; so it is
tried, on rows that the tool gives (``sample_rows``), for each batch size, slot and kind of neighbour, and
the fastest regime that held is the one that serves.
"""

from __future__ import annotations

import time
from hashlib import blake2b
from statistics import median
from typing import Any, Callable, Dict, Iterator, NamedTuple

import numpy as np

from engine.components.bases import BaseCanvasNode
from engine.hosting import numerics
from engine.hosting.bits import Prints, prints_of
from engine.hosting.forward import BadOutput, forward_rows

Row = Dict[str, Any]

ROWS = 64
_VISITS = 16


class SelfCheckError(Exception):
    """The tool cannot be checked, or must not serve as it is; the message says why and what to change."""


class _Raised(Exception):
    """``forward`` raised on a batch; says which size and what."""


class Verdict(NamedTuple):
    """The regime that a tool is served in, and what it rests on.

    regime: ``free`` (a batch of any size), ``padded`` (filled up to ``shape`` rows, alone too), ``rows``
    (one row a forward) or ``unchecked`` (free, without a check). label: ``exact``; ``rare``: what was
    compared is too coarse to show most differences (16-bit floats, or no float at all), so that one is
    rarer than one in ``elements`` and no more is known; ``unrepeatable``: the same row twice gave other
    bits; ``unchecked``. why: what ruled out the faster regimes. digest: of the outputs of all ``rows``
    sample rows as this regime serves them. per_row, fixed: seconds that a forward takes for each row, and
    beside that; ``fixed`` is None where nothing was measured.
    """

    regime: str
    label: str
    why: str = ""
    shape: int | None = None
    rows: int = 0
    elements: int = 0
    digest: str | None = None
    check_ms: float = 0.0
    per_row: float = 0.0
    fixed: float | None = None

    def record(self) -> dict[str, Any]:
        """The part that goes into the run's record."""
        kept = ("regime", "label", "why", "shape", "rows", "elements", "digest", "check_ms")
        return {name: getattr(self, name) for name in kept}


async def check(tool: BaseCanvasNode, max_batch: int, unchecked: bool = False) -> Verdict:
    """Choose the regime for ``tool`` with batches of up to ``max_batch`` rows. Runs in the forward thread.

    Raises SelfCheckError (a layer in train mode, bad ``sample_rows``, rows that it cannot run alone) and
    BadOutput.
    """
    if unchecked:
        return Verdict("unchecked", "unchecked", "the nodeset sets unchecked = True")
    layer = numerics.training_layer(tool)
    if layer is not None:
        raise SelfCheckError(
            f"{tool.node_type}: {layer} is in train mode, so that a row depends on its batch or on chance: "
            "call .eval() on the model, or set unchecked = True on the nodeset"
        )
    began = time.perf_counter()
    samples = _sample_rows(tool, max(ROWS, max_batch))
    if not samples:
        return Verdict("rows", "exact", "the tool has no sample_rows to check other regimes with")
    verdict = await _Check(tool, samples, max_batch).verdict()
    return verdict._replace(check_ms=round((time.perf_counter() - began) * 1e3, 1))


class _Check:
    def __init__(self, tool: BaseCanvasNode, samples: list[Row], max_batch: int) -> None:
        self._tool = tool
        self._samples = samples
        self._max_batch = max_batch
        self._seconds: dict[int, list[float]] = {}
        self._elements = 0

    async def verdict(self) -> Verdict:
        try:
            alone = await self._one_by_one(None)
            moved = await self._differs_again(alone)
        except _Raised as raised:
            raise SelfCheckError(f"{self._tool.node_type}: {raised} of its own sample_rows") from raised
        if moved is not None or self._max_batch == 1:
            return self._chosen(
                "rows", alone, "exact" if moved is None else "unrepeatable", moved or "max_batch is 1"
            )
        rows = self._chosen("rows", alone, "exact")
        coarse = numerics.reduced_precision(self._tool) or any(prints.coarse for prints in alone)
        label = "rare" if coarse else "exact"
        reasons = ["free: not tried, since the outputs are too coarse to tell"] if coarse else []
        for shape in _shapes(self._max_batch, coarse):
            regime = "free" if shape is None else "padded"
            try:
                expected = alone if shape is None else await self._one_by_one(shape)
                reason = await self._differs_in_batches(expected, shape)
            except _Raised as raised:
                reason = str(raised)
            if reason is None:
                return self._chosen(regime, expected, label, "; ".join(reasons), shape)
            reasons.append(f"{regime}: {reason}")
        return rows._replace(why="; ".join(reasons))

    async def _one_by_one(self, shape: int | None) -> list[Prints]:
        """Each sample as a batch of its own: what it is compared with from then on."""
        self._seconds, self._elements = {}, 0
        return [(await self._run([sample], shape))[0] for sample in self._samples]

    async def _differs_again(self, alone: list[Prints]) -> str | None:
        """The same rows once more, in reverse: a tool that keeps nothing between calls cannot tell."""
        for index in reversed(range(len(self._samples))):
            prints = await self._run([self._samples[index]], None)
            port = self._difference(alone[index], prints[0])
            if port is not None:
                return (
                    f"output {port} of the same row differed when it ran again: the tool keeps state between "
                    "calls or draws from a global generator"
                )
        return None

    async def _differs_in_batches(self, expected: list[Prints], shape: int | None) -> str | None:
        """Why rows in batches do not get the bits ``expected``; None if they always do."""
        for size in range(2, self._max_batch + 1):
            for chosen in _chunks(len(self._samples), size):
                prints = await self._run([self._samples[index] for index in chosen], shape)
                wrong = self._wrong_slot([expected[index] for index in chosen], prints)
                if wrong is not None:
                    return wrong
        return await self._differs_beside_strangers(expected, shape)

    async def _differs_beside_strangers(self, expected: list[Prints], shape: int | None) -> str | None:
        """Every second slot holds zeros, NaN or extreme numbers; then the other half of the slots does."""
        for size in range(2, self._max_batch + 1):
            for kind, change in _STRANGERS.items():
                for parity in (0, 1):
                    rows = [
                        _changed(sample, change) if slot % 2 == parity else sample
                        for slot, sample in enumerate(self._samples[:size])
                    ]
                    try:
                        with np.errstate(all="ignore"):
                            prints = await self._run(rows, shape)
                    except _Raised:
                        continue  # Rows of a batch that raises run alone, beside nobody.
                    for slot in range(1 - parity, size, 2):
                        port = self._difference(expected[slot], prints[slot])
                        if port is not None:
                            return f"output {port} of a row in slot {slot} of {size} changed beside {kind}"
        return None

    async def _run(self, samples: list[Row], shape: int | None) -> list[Prints]:
        began = time.perf_counter()
        try:
            outputs = await forward_rows(self._tool, samples, shape)
        except BadOutput:
            raise
        except Exception as error:
            raise _Raised(
                f"forward raised on a batch of {shape or len(samples)} ({type(error).__name__}: {error})"
            ) from error
        self._seconds.setdefault(len(samples), []).append(time.perf_counter() - began)
        return [prints_of(output, self._tool.node_type) for output in outputs]

    def _difference(self, expected: Prints, got: Prints) -> str | None:
        """The name of the first port that differs. Counts what was compared."""
        self._elements += expected.elements
        if expected.ports == got.ports:
            return None
        names = sorted(set(expected.ports) | set(got.ports))
        return repr(next(name for name in names if expected.ports.get(name) != got.ports.get(name)))

    def _wrong_slot(self, expected: list[Prints], got: list[Prints]) -> str | None:
        ports = [self._difference(one, other) for one, other in zip(expected, got)]
        if not any(ports):
            return None
        if sorted(prints.key for prints in expected) == sorted(prints.key for prints in got):
            raise BadOutput(
                f"{self._tool.node_type}: _outputs of {len(got)} rows are not in the order of their _samples"
            )
        slot = next(index for index, port in enumerate(ports) if port)
        return f"output {ports[slot]} of a row has other bits in slot {slot} of a batch of {len(got)}"

    def _chosen(
        self, regime: str, served: list[Prints], label: str, why: str = "", shape: int | None = None
    ) -> Verdict:
        digest = blake2b(b"".join(prints.key for prints in served), digest_size=16).hexdigest()
        verdict = Verdict(regime, label, why, shape, len(served), self._elements, digest)
        if regime == "rows":
            return verdict
        one, most = (median(self._seconds[size]) for size in (1, self._max_batch))
        per_row = max(0.0, most - one) / (self._max_batch - 1) if regime == "free" else 0.0
        return verdict._replace(per_row=per_row, fixed=max(0.0, one - per_row))


def _sample_rows(tool: BaseCanvasNode, count: int) -> list[Row]:
    """``count`` rows of the tool, drawn alike on every machine; empty where it has no ``sample_rows``."""
    give: Callable[[int, np.random.Generator], Any] | None = getattr(tool, "sample_rows", None)
    if give is None:
        return []
    rng = np.random.Generator(np.random.PCG64(0))
    rows = give(count, rng)
    if not isinstance(rows, list) or len(rows) < count or not all(isinstance(row, dict) for row in rows):
        raise SelfCheckError(
            f"{tool.node_type}: sample_rows({count}, rng) must return a list of {count} dicts of inputs"
        )
    return [{"_key": int(rng.integers(0, 2**63)), **row} for row in rows[:count]]


def _shapes(max_batch: int, coarse: bool) -> list[int | None]:
    """Shapes to try, fastest first; None: the batch as it is.

    A multiple of 32 rows leaves vectorised functions no tail, whatever the width of a row.
    """
    shapes: list[int | None] = [] if coarse else [None]
    return [*shapes, *sorted({max_batch, -(-max_batch // 32) * 32})]


def _chunks(rows: int, size: int) -> Iterator[list[int]]:
    """Indices of batches of ``size`` that bring at least ``_VISITS`` different rows to each slot."""
    batches = max(-(-rows // size), _VISITS)
    for batch in range(batches):
        start = batch * size + batch * size // rows  # A whole round moves every row on by one slot.
        yield [(start + slot) % rows for slot in range(size)]


_STRANGERS: dict[str, tuple[float, int]] = {
    "zeros": (0.0, 0),
    "NaN": (float("nan"), 0),
    "extreme numbers": (1e30, 255),
}


def _changed(value: Any, change: tuple[float, int]) -> Any:
    """``value`` with each float and each image byte replaced by those of ``change``.

    Other integers and texts stay: as indices and tokens they cannot be just anything.
    """
    number, byte = change
    if isinstance(value, dict):
        return {key: _changed(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_changed(item, change) for item in value]
    if isinstance(value, float):
        return number
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.full_like(value, min(number, float(np.finfo(value.dtype).max)))
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:
        return np.full_like(value, byte)
    return value
