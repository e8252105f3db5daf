"""The cards as NVML tells of them, with its functions faked: no card is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from engine.scheduling.machine import Gpu, GpuProcess
from engine.scheduling.samplers.nvml import NvmlSampler

MB = 1 << 20


def row(pid: int, mb: float | None) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, usedGpuMemory=None if mb is None else int(mb * MB))


@dataclass
class Card:
    """A card or MIG instance; an exception stands for a call that fails."""

    uuid: str = "GPU-a"
    total: float = 24576
    reserved: float = 500
    used: float = 1000
    compute: Any = ()
    graphics: Any = ()
    mps: Any = field(default_factory=lambda: pynvml.NVMLError_NotSupported())
    memory_error: Exception | None = None
    handle_error: Exception | None = None
    instances: list[Any] | None = None
    name: Any = "NVIDIA A10"


class Driver:
    """NVML with some cards. ``old``: without the memory call that tells the reserve."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *cards: Card, old: bool = False) -> None:
        self.cards = list(cards)
        self.old = old
        self.init_error: Exception | None = None
        self.count_error: Exception | None = None
        self.starts = self.stops = 0
        fakes: dict[str, Callable[..., Any]] = {
            "nvmlInit": self._init,
            "nvmlShutdown": self._shutdown,
            "nvmlDeviceGetCount": self._count,
            "nvmlDeviceGetHandleByIndex": self._handle,
            "nvmlDeviceGetUUID": lambda card: card.uuid,
            "nvmlDeviceGetName": lambda card: card.name,
            "nvmlDeviceGetMemoryInfo": self._memory,
            "nvmlDeviceGetMigMode": self._mig_mode,
            "nvmlDeviceGetMaxMigDeviceCount": lambda card: len(card.instances),
            "nvmlDeviceGetMigDeviceHandleByIndex": lambda card, index: told(card.instances[index]),
            "nvmlDeviceGetComputeRunningProcesses": lambda card: told(card.compute),
            "nvmlDeviceGetGraphicsRunningProcesses": lambda card: told(card.graphics),
            "nvmlDeviceGetMPSComputeRunningProcesses": lambda card: told(card.mps),
        }
        for name, fake in fakes.items():
            monkeypatch.setattr(pynvml, name, fake)

    def _init(self) -> None:
        if self.init_error:
            raise self.init_error
        self.starts += 1

    def _shutdown(self) -> None:
        self.stops += 1

    def _count(self) -> int:
        if self.count_error:
            raise self.count_error
        return len(self.cards)

    def _handle(self, index: int) -> Card:
        card = self.cards[index]
        if card.handle_error:
            raise card.handle_error
        return card

    def _memory(self, card: Card, version: int | None = None) -> SimpleNamespace:
        if card.memory_error:
            raise card.memory_error
        if version is None:
            used = card.used + card.reserved
            return SimpleNamespace(total=int(card.total * MB), used=int(used * MB))
        assert version == pynvml.nvmlMemory_v2
        if self.old:
            raise pynvml.NVMLError_FunctionNotFound
        return SimpleNamespace(
            total=int(card.total * MB), reserved=int(card.reserved * MB), used=int(card.used * MB)
        )

    def _mig_mode(self, card: Card) -> list[int]:
        if card.instances is None:
            raise pynvml.NVMLError_NotSupported
        return [1, 1]


def told(value: Any) -> Any:
    if isinstance(value, Exception):
        raise value
    return value


class Ticking:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def only(rows: tuple[Gpu, ...]) -> Gpu:
    (found,) = rows
    return found


def test_totals_and_every_process_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulator draws: it is only in the graphics list. Who does both is in both, with the same memory."""
    card = Card(
        compute=[row(10, 600), row(11, 100)], graphics=[row(11, 100), row(12, 300)], mps=[row(10, 600)]
    )
    Driver(monkeypatch, card)
    driver, rows, problems = NvmlSampler(lambda: 7.0).read()
    found = only(rows)
    assert (driver, problems) == ("present", ())
    assert (found.uuid, found.label, found.name, found.sampled_at) == ("GPU-a", "0", "NVIDIA A10", 7.0)
    assert (found.total_mb, found.used_mb) == (24076, 1000)  # the driver's reserve is nobody's to have
    assert found.processes == (GpuProcess(10, 600), GpuProcess(11, 100), GpuProcess(12, 300))
    assert (found.processes_known, found.unified) == (True, False)


def test_an_old_driver_counts_its_reserve_as_used(monkeypatch: pytest.MonkeyPatch) -> None:
    Driver(monkeypatch, Card(name=b"Tesla T4"), old=True)
    found = only(NvmlSampler().read()[1])
    assert (found.total_mb, found.used_mb, found.name) == (24576, 1500, "Tesla T4")


@pytest.mark.parametrize(
    ("compute", "graphics", "expected", "known"),
    [
        ([row(10, None)], [], (GpuProcess(10, None),), True),  # "N/A"
        ([row(10, None)], [row(10, 50)], (GpuProcess(10, 50),), True),
        ([row(10, 50)], [row(10, None)], (GpuProcess(10, 50),), True),
        (pynvml.NVMLError_NotSupported(), [row(10, 50)], (GpuProcess(10, 50),), True),
        (pynvml.NVMLError_NoPermission(), pynvml.NVMLError_NoPermission(), (), False),
        (pynvml.NVMLLibraryMismatchError("old"), pynvml.NVMLLibraryMismatchError("old"), (), False),
        ([], [], (), True),
    ],
)
def test_processes_that_are_not_told(
    monkeypatch: pytest.MonkeyPatch,
    compute: Any,
    graphics: Any,
    expected: tuple[GpuProcess, ...],
    known: bool,
) -> None:
    Driver(monkeypatch, Card(compute=compute, graphics=graphics))
    found = only(NvmlSampler().read()[1])
    assert (found.processes, found.processes_known) == (expected, known)


def test_unified_memory_keeps_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    Driver(monkeypatch, Card(memory_error=pynvml.NVMLError_NotSupported(), compute=[row(10, 600)]))
    found = only(NvmlSampler().read()[1])
    assert (found.unified, found.total_mb, found.processes) == (True, 0, (GpuProcess(10, 600),))


def test_a_split_card_is_its_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    instances = [
        Card(uuid="MIG-a", total=10240, reserved=0, graphics=pynvml.NVMLError_NotSupported()),
        pynvml.NVMLError_NotFound(),
        Card(uuid="MIG-b", total=20480, reserved=0, compute=[row(5, None)]),
    ]
    Driver(monkeypatch, Card(instances=instances), Card(uuid="GPU-b"))
    rows = NvmlSampler().read()[1]
    assert [(found.uuid, found.label, found.total_mb) for found in rows] == [
        ("MIG-a", "0:0", 10240),
        ("MIG-b", "0:2", 20480),
        ("GPU-b", "1", 24076),
    ]


@pytest.mark.parametrize("fault", ["handle_error", "memory_error"])
def test_a_card_that_fails_keeps_its_last_row_and_its_age(
    monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    driver = Driver(monkeypatch, Card(), Card(uuid="GPU-b"))
    sampler = NvmlSampler(Ticking())
    sampler.read()
    setattr(driver.cards[0], fault, pynvml.NVMLError_GpuIsLost())
    state, rows, problems = sampler.read()
    assert state == "present"
    assert (rows[0].uuid, rows[0].sampled_at) == ("GPU-a", 1.0)
    assert rows[1].sampled_at > 2.0
    assert problems == ("GPU 0: GPU is lost",)
    setattr(driver.cards[0], fault, None)
    assert sampler.read()[1][0].sampled_at > 3.0


def test_a_driver_that_stops_answering_leaves_old_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(monkeypatch, Card())
    sampler = NvmlSampler(Ticking())
    sampler.read()
    driver.count_error = pynvml.NVMLError_Unknown()
    driver.init_error = pynvml.NVMLError_DriverNotLoaded()
    for _ in range(2):
        state, rows, problems = sampler.read()
        assert (state, only(rows).sampled_at) == ("failing", 1.0)
        assert problems[0].startswith("NVML: ")
    assert (driver.starts, driver.stops) == (1, 1)
    driver.count_error = driver.init_error = None
    state, rows, _ = sampler.read()
    assert (state, only(rows).sampled_at, driver.starts) == ("present", 2.0, 2)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (pynvml.NVMLError_LibraryNotFound(), "absent"),
        (pynvml.NVMLError_DriverNotLoaded(), "absent"),
        (
            pynvml.NVMLError_LibRmVersionMismatch(),
            "failing",
        ),  # updated under a running system: there are cards
        (pynvml.NVMLError_NoPermission(), "failing"),
    ],
)
def test_no_driver_is_not_a_failing_one(
    monkeypatch: pytest.MonkeyPatch, error: Exception, expected: str
) -> None:
    Driver(monkeypatch).init_error = error
    state, rows, problems = NvmlSampler().read()
    assert (state, rows) == (expected, ())
    assert bool(problems) == (expected == "failing")


def test_a_driver_without_cards_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    Driver(monkeypatch)
    assert NvmlSampler().read() == ("absent", (), ())
