"""The cards, through NVML: totals, and every process on them, graphics contexts included.

Compute lists alone miss the EGL contexts of simulators. A card that cannot be read keeps its last row, whose
age then says so; no row ever vanishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Literal

import msgspec
import pynvml

from engine.scheduling.machine import Gpu, GpuProcess, boottime

Driver = Literal["present", "absent", "failing"]

_MB = 1 << 20
_NO_DRIVER = (pynvml.NVMLError_LibraryNotFound, pynvml.NVMLError_DriverNotLoaded)
_LISTS = (
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses",
    "nvmlDeviceGetMPSComputeRunningProcesses",
)


class NvmlSampler:
    """Reads the cards. An NVML that fails is started again at the next reading."""

    def __init__(self, clock: Callable[[], float] = boottime) -> None:
        self._clock = clock
        self._started = False
        self._rows: dict[str, Gpu] = {}

    def read(self) -> tuple[Driver, tuple[Gpu, ...], tuple[str, ...]]:
        """The driver's state, the last row of every card seen so far, and what could not be read."""
        problems: list[str] = []
        driver = self._read_cards(problems)
        return driver, tuple(self._rows.values()), tuple(problems)

    def _read_cards(self, problems: list[str]) -> Driver:
        try:
            if not self._started:
                pynvml.nvmlInit()
                self._started = True
            count = int(pynvml.nvmlDeviceGetCount())
        except pynvml.NVMLError as error:
            self._stop()
            if isinstance(error, _NO_DRIVER) and not self._rows:
                return "absent"
            problems.append(f"NVML: {error}")
            return "failing"
        for index in range(count):
            try:
                for row in self._card(index):
                    self._rows[row.uuid] = row
            except pynvml.NVMLError as error:
                problems.append(f"GPU {index}: {error}")
        return "present" if self._rows or problems else "absent"

    def _stop(self) -> None:
        if self._started:
            self._started = False
            with suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()

    def _card(self, index: int) -> Iterator[Gpu]:
        card = pynvml.nvmlDeviceGetHandleByIndex(index)
        if not _is_split(card):
            yield self._row(card, str(index))
            return
        for number in range(int(pynvml.nvmlDeviceGetMaxMigDeviceCount(card))):
            with suppress(pynvml.NVMLError_NotFound):
                instance = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(card, number)
                yield self._row(instance, f"{index}:{number}")

    def _row(self, handle: Any, label: str) -> Gpu:
        uuid, name = _text(pynvml.nvmlDeviceGetUUID(handle)), _text(pynvml.nvmlDeviceGetName(handle))
        processes = _processes(handle)
        row = Gpu(
            uuid=uuid,
            label=label,
            name=name,
            total_mb=0.0,
            used_mb=0.0,
            sampled_at=self._clock(),
            processes=processes or (),
            processes_known=processes is not None,
            utilization=_told(lambda: pynvml.nvmlDeviceGetUtilizationRates(handle).gpu),
            power_w=_told(lambda: pynvml.nvmlDeviceGetPowerUsage(handle) / 1000),
            temperature_c=_told(lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)),
        )
        try:
            total, used = _memory(handle)
        except pynvml.NVMLError_NotSupported:  # a card without memory of its own
            return msgspec.structs.replace(row, unified=True)
        return msgspec.structs.replace(row, total_mb=total / _MB, used_mb=used / _MB)


def _is_split(card: Any) -> bool:
    try:
        return int(pynvml.nvmlDeviceGetMigMode(card)[0]) == 1
    except (pynvml.NVMLError_NotSupported, pynvml.NVMLError_FunctionNotFound):
        return False


def _memory(handle: Any) -> tuple[int, int]:
    try:
        info = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
        return int(info.total) - int(info.reserved), int(info.used)
    except pynvml.NVMLError_FunctionNotFound:  # a driver before 510, which counts its reserve as used
        info = pynvml.nvmlDeviceGetMemoryInfo(handle)
        return int(info.total), int(info.used)


def _processes(handle: Any) -> tuple[GpuProcess, ...] | None:
    """Each process once, though it may compute and draw; None where the driver does not list them."""
    used: dict[int, float | None] = {}
    listed = False
    for name in _LISTS:
        try:
            rows = getattr(pynvml, name)(handle)
        except (pynvml.NVMLError, pynvml.NVMLLibraryMismatchError):
            continue
        listed = True
        for row in rows:
            before = used.get(row.pid)
            mb = None if row.usedGpuMemory is None else row.usedGpuMemory / _MB
            used[row.pid] = mb if before is None else max(before, mb or 0.0)
    return tuple(GpuProcess(pid, mb) for pid, mb in sorted(used.items())) if listed else None


def _told(ask: Callable[[], float]) -> float | None:
    """What is for show only: a MIG instance has none of it, and many a card not all."""
    try:
        return float(ask())
    except (pynvml.NVMLError, pynvml.NVMLLibraryMismatchError):
        return None


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
