"""Which host must go when main memory is short, and that it goes, and no other."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.components.errors import HostCrashed, HostStartFailed
from engine.hosting import process
from engine.hosting.main_memory import Room
from engine.hosting.memory_guard import MemoryGuard, floor_mb, pause_sec, to_end
from engine.hosting.process import HostProcess, HostSpec
from engine.hosting.weighing import Weight, weigh
from engine.scheduling.policy import ram_floor_mb
from tests.fakes.small_machine import hosts_below, room_of
from tests.hosting.helpers import ZOO, Host

Start = Callable[..., Awaitable[Host]]
GB = 1024.0
BOX = 24 * GB
SHORT = Room(BOX, 1.0 * GB)


def host(pid: int, gb: float, nodeset: str = "env", said_gb: float = 0.0) -> Weight:
    return Weight(pid, nodeset, gb * GB, said_gb * GB)


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        pytest.param([], None, id="there is none"),
        pytest.param([host(1, 11), host(2, 11.5)], 2, id="both grow: the larger"),
        pytest.param([host(1, 11), host(2, 11)], 2, id="equal: every run chooses the same"),
        pytest.param([host(1, 0.4), host(2, 9)], 2, id="far above its fellow"),
        pytest.param([host(1, 9)], 1, id="alone, and far above what is assumed"),
        pytest.param([host(1, 0.3), host(2, 0.4)], None, id="another process has filled the machine"),
        pytest.param([host(1, 1.5)], None, id="so it has, and the host is not far above what is assumed"),
        pytest.param([host(n, 2) for n in range(3)], None, id="so it has, and they are all alike"),
        pytest.param([host(n, 3) for n in range(7)], 6, id="alike, and it is they who fill the machine"),
        pytest.param([host(n, 3, said_gb=3) for n in range(7)], None, id="all keep to what was said"),
        pytest.param([host(n, 3.2, said_gb=3) for n in range(7)], None, id="nearly"),
        pytest.param([host(1, 12, "big", 12), host(2, 8)], 2, id="the larger keeps to what was said"),
        pytest.param([host(1, 14, "big", 12), host(2, 8, "env", 7.9)], 1, id="furthest above what was said"),
        pytest.param([host(1, 5, said_gb=3)], None, id="above what was said, but others fill the machine"),
        pytest.param([host(1, 7, said_gb=3)], 1, id="twice what was said"),
    ],
)
def test_who_must_go(hosts: list[Weight], expected: int | None) -> None:
    found = to_end(SHORT, hosts)
    assert (found.pid if found else None) == expected
    assert to_end(Room(BOX, floor_mb(BOX)), hosts) is None


sizes = st.floats(0, 64 * GB)
weights = st.builds(Weight, st.integers(1, 10**6), st.sampled_from(["a", "b"]), sizes, st.just(0.0) | sizes)
many = st.lists(weights, max_size=8, unique_by=lambda weight: weight.pid)


@given(many, st.floats(256, 512 * GB), st.floats(0, 1), st.randoms())
def test_it_is_the_same_one_whoever_asks(
    hosts: list[Weight], total: float, free: float, order: object
) -> None:
    room = Room(total, total * free)
    found = to_end(room, hosts)
    order.shuffle(hosts)  # type: ignore[attr-defined]
    assert to_end(room, hosts) == found
    if found is not None:
        assert room.free_mb < floor_mb(total)
        assert found.mb > found.said_mb
        assert found.said_mb > 0 or found.mb >= max(host.mb - 1.1 * host.said_mb for host in hosts)


@given(st.floats(64, 4096 * GB), st.floats(0, 1))
def test_a_run_that_keeps_to_its_estimate_stays_away_from_the_floor(total: float, free: float) -> None:
    assert 0 < floor_mb(total) <= ram_floor_mb(total) / 2
    assert 0.1 <= pause_sec(Room(total, total * free)) <= 1.0


def guard_of(root: Path, spare_mb: float) -> MemoryGuard:
    """On a machine that the hosts below ``root`` fill but for so much; others are not seen."""
    total = sum(host.mb for host in hosts_below(root)) + spare_mb
    return MemoryGuard(lambda: room_of(total, root), lambda cgroup: hosts_below(root, cgroup))


@pytest.fixture
def zoos(tmp_path: Path, start: Start) -> Callable[[int | None], Awaitable[Host]]:
    """Starts hosts whose file is the test's own, by which they are known."""
    (tmp_path / "zoo.py").symlink_to(ZOO)

    async def begin(ram_mb: int | None) -> Host:
        return await start(path=tmp_path / "zoo.py", ram_mb=ram_mb)

    return begin


async def test_the_host_that_grows_is_ended_and_its_caller_told(
    zoos: Callable[[int | None], Awaitable[Host]], tmp_path: Path
) -> None:
    greedy, innocent, model = await zoos(0), await zoos(0), await zoos(None)
    guard = guard_of(tmp_path, 40)
    await guard.look()
    assert (await innocent.do("nothing")).outputs == {}
    await greedy.do("takes memory")
    playing = asyncio.create_task(greedy.do("hangs", value=str(tmp_path / "pids")))
    watch = asyncio.create_task(guard.watch())
    told = (
        r"zoo was ended during zoo__do: it held 0\.\d GB, and 0\.0 of the machine's 0\.\d GB were free; take"
    )
    with pytest.raises(HostCrashed, match=told) as caught:
        await playing
    assert caught.value.outgrew
    await greedy.process.ended()
    await guard.look()
    watch.cancel()
    for other in (innocent, model):
        assert (await other.do("echo", value=1)).outputs == {"value": 1}
    with pytest.raises(HostCrashed) as again:
        await greedy.do("nothing")
    assert again.value.outgrew


async def test_a_host_that_is_ended_between_calls_says_so_at_the_next(
    zoos: Callable[[int | None], Awaitable[Host]], tmp_path: Path
) -> None:
    greedy = await zoos(0)
    guard = guard_of(tmp_path, 40)
    await greedy.do("takes memory")
    await guard.look()
    await greedy.process.ended()
    with pytest.raises(HostCrashed, match=r"zoo was ended (before|during) zoo__do: it held 0\.") as caught:
        await greedy.do("nothing")
    assert caught.value.outgrew


async def test_nobody_ends_the_host_of_another_run(
    zoos: Callable[[int | None], Awaitable[Host]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And none of its own for it, as long as that one is the largest; nor at once after it has gone."""
    others, mine = await zoos(0), await zoos(0)
    guard = guard_of(tmp_path, 40)
    await others.do("takes memory")
    monkeypatch.setattr(HostProcess, "running", lambda: {mine.process})
    await guard.look()
    assert (await others.do("echo", value=1)).outputs == {"value": 1}
    full = MemoryGuard(lambda: Room(100, 0), lambda cgroup: hosts_below(tmp_path, cgroup))
    await full.look()
    await others.process.kill()
    await full.look()  # what it held comes back little by little
    assert (await mine.do("echo", value=1)).outputs == {"value": 1}
    await MemoryGuard(lambda: Room(100, 0), lambda cgroup: hosts_below(tmp_path, cgroup)).look()
    await mine.process.ended()


async def test_a_host_that_grows_while_it_starts(spec: Callable[..., HostSpec], tmp_path: Path) -> None:
    (tmp_path / "zoo.py").symlink_to(ZOO)
    mark = {"ZOO_MARK": str(tmp_path / "mark")}
    starting = spec("hang at import", path=tmp_path / "zoo.py", ram_mb=0, env=mark)
    start = asyncio.create_task(HostProcess.start(starting, 60))
    watch = asyncio.create_task(
        MemoryGuard(lambda: Room(100, 0), lambda cgroup: hosts_below(tmp_path, cgroup)).watch()
    )
    with pytest.raises(
        HostStartFailed, match=r"zoo did not start: it was ended before it was up: it held 0\."
    ):
        await start
    watch.cancel()


@pytest.mark.parametrize("lately", [5.0, -1.0])
async def test_memory_that_was_short_just_before_the_end_was_short(
    zoos: Callable[[int | None], Awaitable[Host]],
    tmp_path: Path,
    lately: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is free again before the end of who held it can be seen."""
    monkeypatch.setattr(process, "SEEN_BEFORE_SEC", lately)
    host = await zoos(10_000)
    rooms = iter([Room(100.0, 1.0), Room(100.0, 90.0)])
    guard = MemoryGuard(lambda: next(rooms), lambda cgroup: hosts_below(tmp_path, cgroup))
    await guard.look()
    await guard.look()
    os.kill(host.process.pid, signal.SIGKILL)
    await host.process.ended()
    assert ("it held 0." in host.process.exit_cause()) == (lately > 0)


@pytest.mark.parametrize("short", [True, False])
async def test_what_the_kernel_ends_is_told_with_what_it_held(
    zoos: Callable[[int | None], Awaitable[Host]], tmp_path: Path, short: bool
) -> None:
    host = await zoos(10_000)  # it keeps to what its nodeset says
    room = Room(23.5 * GB, 0.1 * GB if short else 8 * GB)
    await MemoryGuard(lambda: room, lambda cgroup: hosts_below(tmp_path, cgroup)).look()
    playing = asyncio.create_task(host.do("hangs", value=str(tmp_path / "pids")))
    os.kill(host.process.pid, signal.SIGKILL)
    seen = (
        r"it held 0\.\d GB when last seen, 0\.1 GB of 23\.5 GB were free: the kernel ends what takes too much"
    )
    with pytest.raises(HostCrashed) as caught:
        await playing
    told = r"zoo ended by signal SIGKILL \(9\) (during|before) zoo__do" + (f": {seen}" if short else "")
    assert re.fullmatch(told, str(caught.value))
    assert caught.value.outgrew is short
    cause = host.process.exit_cause()
    assert re.fullmatch(r"signal SIGKILL \(9\)" + (f"; {seen}" if short else ""), cause)


async def test_a_host_weighs_what_it_started_too(
    zoos: Callable[[int | None], Awaitable[Host]], tmp_path: Path
) -> None:
    zoo, unguarded = await zoos(7), await zoos(None)
    (alone,) = hosts_below(tmp_path)
    assert (alone.pid, alone.nodeset, alone.said_mb) == (zoo.process.pid, "zoo", 7.0)
    await zoo.do("starts a child")
    (both,) = hosts_below(tmp_path)
    assert both.mb > alone.mb + 4
    assert unguarded.process.pid not in [host.pid for host in weigh()]


def test_hosts_of_other_cgroups_are_not_counted_where_one_is_short(tmp_path: Path) -> None:
    def process(pid: int, cgroup: str, parent: int = 1, session: int = 0) -> None:
        folder = tmp_path / str(pid)
        folder.mkdir()
        fields = ["S", str(parent), "0", str(session or pid), *["0"] * 17, "256", "0"]
        (folder / "stat").write_text(f"{pid} (py (thon) {' '.join(fields)}")
        words = ["python", "/x/engine/hosting/host.py", "--name", f"env{pid}", "--ram-mb", "0", ""]
        (folder / "cmdline").write_text("\0".join(words))
        (folder / "cgroup").write_text(f"5:memory:{cgroup}\n0::/\n")

    process(10, "/slurm/job_1/step_0")
    process(11, "/slurm/job_1/step_0", parent=10, session=11 - 1)
    process(20, "/slurm/job_12/step_0")
    page = os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    assert weigh("/slurm/job_1", tmp_path) == [Weight(10, "env10", 2 * 256 * page)]
    assert {host.pid for host in weigh("", tmp_path)} == {10, 20}
    assert {host.pid for host in weigh("/", tmp_path)} == {10, 20}
