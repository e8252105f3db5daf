"""Main memory, processes, the disk, and the thread that reads them."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from engine.hosting.main_memory import MainMemory
from engine.scheduling.attribution import attribute
from engine.scheduling.machine import RAM, Gpu, GpuProcess, Process, Root, Sample
from engine.scheduling.samplers.background import BackgroundSampler
from engine.scheduling.samplers.local import LocalMachine, disk_free_mb
from engine.scheduling.samplers.processes import ProcessSampler, below

MB = 1 << 20
GB = 1 << 30
DEADLINE_SEC = 20.0


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SEC
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


class Host:
    """A fake /proc and /sys/fs/cgroup, on a host of 64 GB with 40 available."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.proc, self.cgroups = root / "proc", root / "cgroup"
        memory = SimpleNamespace(total=64 * GB, available=40 * GB)
        monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)

    def inside(self, cgroup: str) -> None:
        write(self.proc / "self", cgroup=cgroup)

    def read(self) -> tuple[float, float]:
        self.room = MainMemory(self.proc, self.cgroups).read()
        return self.room.total_mb / 1024, self.room.free_mb / 1024


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


def test_memory_without_a_cgroup_is_the_hosts(host: Host) -> None:
    assert host.read() == (64, 40)
    assert host.room.cgroup == ""
    host.inside("0::/user.slice\n")
    assert host.read() == (64, 40)


def test_the_tightest_cgroup_above_counts(host: Host) -> None:
    host.inside("0::/a/b\n")
    write(host.cgroups / "a", memory__max=f"{16 * GB}\n", memory__current=f"{10 * GB}\n")
    write(host.cgroups / "a" / "b", memory__max="max\n", memory__current=f"{9 * GB}\n")
    assert host.read() == (16, 6)
    assert host.room.cgroup == "/a"
    write(host.cgroups / "a" / "b", memory__max=f"{12 * GB}\n", memory__current=f"{9 * GB}\n")
    assert host.read() == (12, 3)
    assert host.room.cgroup == "/a/b"


def test_page_cache_that_can_go_is_available(host: Host) -> None:
    host.inside("0::/a\n")
    write(
        host.cgroups / "a",
        memory__max=f"{16 * GB}",
        memory__current=f"{15 * GB}",
        memory__stat=f"anon {9 * GB}\ninactive_file {6 * GB}\n",
    )
    assert host.read() == (16, 7)


def test_the_first_version_of_cgroups(host: Host) -> None:
    host.inside("5:cpu,memory:/docker/x\n0::/\n")
    write(
        host.cgroups / "memory" / "docker" / "x",
        memory__limit_in_bytes=f"{8 * GB}",
        memory__usage_in_bytes=f"{7 * GB}",
        memory__stat=f"total_inactive_file {1 * GB}\n",
    )
    write(host.cgroups / "memory", memory__limit_in_bytes=f"{1 << 63}", memory__usage_in_bytes=f"{9 * GB}")
    assert host.read() == (8, 2)
    assert host.room.cgroup == "/docker/x"


def test_a_container_sees_only_its_mount(host: Host) -> None:
    """Its path is the host's; what is mounted is the container's own cgroup."""
    host.inside("0::/kubepods/pod1/abc\n")
    write(host.cgroups, memory__max=f"{4 * GB}", memory__current=f"{5 * GB}")
    assert host.read() == (4, 0)


@contextmanager
def child(code: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


FORKS = """
import mmap, os, sys
shared = mmap.mmap(-1, 64 << 20)
shared.write(b"x" * (64 << 20))
for _ in range(4):
    if os.fork() == 0:
        shared[::4096]
        os.close(1)
        sys.stdin.read()
        os._exit(0)
print("ready", flush=True)
sys.stdin.read()
"""


def test_shared_pages_are_counted_once() -> None:
    """Resident sizes of a forked pool are several times what it takes; proportional ones are not."""
    with child(FORKS) as pool:
        sampler = ProcessSampler(budget_sec=5.0)

        def family() -> list[Process]:
            table = sampler.read([pool.pid])
            return [table[pid] for pid in below(table, [pool.pid])]

        wait_for(lambda: len(family()) == 5 and all(process.rss_mb > 60 for process in family()))
        processes = family()
        assert sum(process.rss_mb for process in processes) > 5 * 60
        assert all(process.pss_mb is not None for process in processes)
        assert 64 < sum(process.pss_mb or 0.0 for process in processes) < 2 * 64
    assert pool.pid not in sampler.read([pool.pid])


def test_reading_sizes_is_bounded_and_everyones_turn_comes() -> None:
    with child(FORKS) as pool:
        sampler = ProcessSampler(budget_sec=0.0)  # one size a reading

        def read() -> int:
            table = sampler.read([pool.pid])
            return sum(table[pid].pss_mb is not None for pid in below(table, [pool.pid]))

        wait_for(lambda: len(below(sampler.read([]), [pool.pid])) == 5)
        counts = [read() for _ in range(6)]
        assert counts == [1, 2, 3, 4, 5, 5]


def test_names_that_look_like_fields(tmp_path: Path) -> None:
    write(tmp_path / "12", stat=f"12 (a) R 1 (b) S 7 1 1 0 -1 {' '.join(['0'] * 14)} 100 256 0\n")
    write(tmp_path / "13", stat="")
    write(tmp_path / "self", stat="x")
    (tmp_path / "14").mkdir()
    (found,) = ProcessSampler(tmp_path).read([]).values()
    assert (found.pid, found.parent, found.name) == (12, 7, "a) R 1 (b")


def table(*parents: tuple[int, int]) -> dict[int, Process]:
    return {pid: Process(pid, parent, f"p{pid}", 10.0) for pid, parent in parents}


def test_below_finds_the_nearest_root_and_no_circle() -> None:
    tree = table((2, 1), (3, 2), (4, 3), (5, 4), (6, 1), (8, 9), (9, 8))
    assert below(tree, [2, 4]) == {2: 2, 3: 2, 4: 4, 5: 4}
    assert below(tree, [7]) == {}  # a root that has ended


def test_memory_is_attributed_up_to_its_owner() -> None:
    processes = table((10, 1), (11, 10), (20, 1), (21, 20), (99, 1))
    card = Gpu(
        uuid="GPU-0",
        label="0",
        name="card",
        total_mb=24000,
        used_mb=13500,
        sampled_at=1,
        processes=(GpuProcess(11, 4000), GpuProcess(21, 500), GpuProcess(99, 6000), GpuProcess(77, 2500)),
    )
    roots = [
        Root(owner="run", pid=10, name="g", workers=1, started_at=0),
        Root(owner="server:m@1", pid=20, name="m", workers=1, started_at=0),
    ]
    usage = attribute(Sample(gpus=(card,), processes=processes), roots)
    assert usage.shown == {
        "run": {RAM: 20.0, "GPU-0": 4000},
        "server:m@1": {RAM: 20.0, "GPU-0": 500},
    }
    assert [str(process) for process in usage.foreign["GPU-0"]] == ["process 99 (p99)", "process 77"]
    theirs = {1: "the backend of /b", 99: "run x of /b", 20: "not this"}
    told = attribute(Sample(gpus=(card,), processes=processes), roots, theirs)
    assert told.shown == usage.shown
    assert [process.whose for process in told.foreign["GPU-0"]] == ["run x of /b", ""]
    assert told.foreign_ram is not None
    assert told.foreign_ram.whose == theirs[told.foreign_ram.pid]
    assert usage.explained == frozenset()  # nobody here is process 77
    assert usage.foreign_ram is not None
    assert usage.foreign_ram.pid == 99


@pytest.mark.parametrize(
    ("more", "explained"),
    [
        ({"used_mb": 4000.0}, True),
        ({"used_mb": 9000.0}, False),  # a container does not show its processes
        ({"processes": (GpuProcess(11, None),)}, False),
        ({"processes_known": False, "processes": ()}, False),
        ({"processes": (GpuProcess(3011, 4000.0),)}, False),  # a pid of outside this container
    ],
)
def test_a_card_whose_processes_are_hidden_is_not_explained(more: dict[str, object], explained: bool) -> None:
    values: dict[str, object] = {
        "used_mb": 4000.0,
        "processes": (GpuProcess(11, 4000.0),),
        "uuid": "G",
        "label": "0",
        "name": "",
        "total_mb": 24000.0,
        "sampled_at": 1.0,
    }
    card = Gpu(**{**values, **more})  # type: ignore[arg-type]
    sample = Sample(gpus=(card,), processes=table((11, 1)))
    assert (attribute(sample, []).explained == {"G"}) is explained


def test_the_gpu_part_of_unified_memory_is_main_memory() -> None:
    card = Gpu(
        uuid="G",
        label="0",
        name="",
        total_mb=0,
        used_mb=0,
        sampled_at=1,
        processes=(GpuProcess(10, 4000.0),),
        unified=True,
    )
    root = Root(owner="run", pid=10, name="g", workers=1, started_at=0)
    usage = attribute(Sample(gpus=(card,), processes=table((10, 1))), [root])
    assert usage.shown == {"run": {RAM: 4010.0}}


def test_the_real_machine_is_read(tmp_path: Path) -> None:
    """Whatever it has: its memory, this process, and the disk."""
    root = Root(owner="me", pid=psutil.Process().pid, name="g", workers=1, started_at=0)
    sample = LocalMachine(tmp_path).sample([root])
    assert sample.memory is not None
    assert 0 < sample.memory.available_mb <= sample.memory.total_mb
    assert sample.disk_free_mb is not None
    assert sample.disk_free_mb > 0
    shown = attribute(sample, [root]).shown["me"][RAM]
    assert shown == pytest.approx(psutil.Process().memory_info().rss / MB, rel=0.6)


def test_a_disk_without_names_left_or_without_its_folder_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert disk_free_mb(tmp_path / "gone") == 0.0
    found = SimpleNamespace(f_files=1000, f_favail=3, f_bavail=1 << 20, f_frsize=4096)
    monkeypatch.setattr("os.statvfs", lambda folder: found)
    assert disk_free_mb(tmp_path) == 0.0
    found.f_files = 0  # a file system that makes them as it goes
    assert disk_free_mb(tmp_path) == 4096.0


class Stub:
    """A machine that hangs, fails or answers, as the test says."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.answers.set()
        self.fails = False
        self.roots: Sequence[Root] = ()
        self.count = 0

    def sample(self, roots: Sequence[Root]) -> Sample:
        self.answers.wait(DEADLINE_SEC)
        self.roots = roots
        if self.fails:
            raise RuntimeError("no such luck")
        self.count += 1
        return Sample(disk_free_mb=float(self.count))


@pytest.fixture
def stub() -> Stub:
    return Stub()


def test_a_hanging_driver_leaves_the_last_sample_and_holds_up_nobody(stub: Stub) -> None:
    stub.answers.clear()
    sampler = BackgroundSampler(stub, interval_sec=0.001)
    try:
        assert sampler.observe([]) is None
        stub.answers.set()
        wait_for(lambda: sampler.observe([]) is not None)
        stub.answers.clear()
        count = stub.count
        wait_for(lambda: sampler.observe([]) == Sample(disk_free_mb=float(stub.count)))
        assert stub.count <= count + 1
    finally:
        stub.answers.set()
        sampler.close(DEADLINE_SEC)


def test_it_looks_at_what_it_was_told_last_and_goes_on_after_a_failure(
    stub: Stub, caplog: pytest.LogCaptureFixture
) -> None:
    sampler = BackgroundSampler(stub, interval_sec=0.001)
    try:
        root = Root(owner="run", pid=10, name="g", workers=1, started_at=0)
        sampler.observe([root])
        wait_for(lambda: list(stub.roots) == [root])
        stub.fails = True
        wait_for(lambda: "no such luck" in caplog.text)
        stub.fails = False
        count = stub.count
        wait_for(lambda: stub.count > count)
    finally:
        sampler.close(DEADLINE_SEC)
    count = stub.count
    assert not any(thread.name == "machine sampler" for thread in threading.enumerate())
    assert stub.count == count
