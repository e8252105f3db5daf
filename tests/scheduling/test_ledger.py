"""The host-wide ledger, between real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from engine.scheduling.ledger import Entry, Ledger, LedgerBusyError
from engine.scheduling.simulation_file import Load, SimulatedCard, Simulation
from engine.store.process_identity import identity
from tests.scheduling.making import GB, job
from tests.scheduling.world import Backend, World

OTHER = """
import sys
from pathlib import Path
from engine.scheduling.ledger import Entry, Ledger
ledger = Ledger(Path(sys.argv[1]))
with ledger.turn(5) as turn:
    turn.publish(Entry(process=ledger.process, root="/root/of/other",
        pending={sys.argv[2]: 9000.0, "ram": 100.0}, exclusive=["GPU-1"], occupied=["GPU-0", "GPU-1"],
        owners={1: "run2"}, cold=None if "known" in sys.argv else "run1"))
    print("published", flush=True)
    if "hold" in sys.argv:
        sys.stdin.readline()
print("free", flush=True)
sys.stdin.readline()
"""


@contextmanager
def backend(folder: Path, *words: str, card: str = "GPU-0") -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", OTHER, str(folder), card, *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "published\n"
        if "hold" not in words:
            assert process.stdout.readline() == "free\n"
        yield process
        process.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that other users reach; pytest's own are closed."""
    with TemporaryDirectory(prefix="evaltower-ledger-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def pending(folder: Path) -> float:
    with Ledger(folder).turn() as turn:
        return turn.others.pending.get("GPU-0", 0.0)


def test_what_others_are_yet_to_take_is_counted_while_they_live(folder: Path) -> None:
    with backend(folder), backend(folder) as second:
        with Ledger(folder).turn() as turn:
            others = turn.others
        assert others.pending == {"GPU-0": 18000.0, "ram": 200.0}
        assert (others.exclusive, others.occupied) == ({"GPU-1"}, {"GPU-0", "GPU-1"})
        assert others.cold == "run1 of /root/of/other"
        second.kill()
        second.wait()
        assert pending(folder) == 9000.0
    assert pending(folder) == 0.0
    assert list(folder.glob("*.json")) == []  # what the dead of ours left is cleared away


def test_ones_own_entry_is_not_counted_and_goes_with_it(folder: Path) -> None:
    ledger = Ledger(folder)
    entry = Entry(process=ledger.process, root="/r", pending={"GPU-0": 5.0})
    with ledger.turn() as turn:
        turn.publish(entry)
    with ledger.turn() as turn:
        assert not turn.others.pending
    (path,) = folder.glob("*.json")
    assert (path.stat().st_mode & 0o777, folder.stat().st_mode & 0o7777) == (0o644, 0o1777)
    ledger.close()
    ledger.close()
    assert list(folder.glob("*.json")) == []


def test_the_wait_for_the_lock_is_bounded(folder: Path) -> None:
    with backend(folder, "hold") as other:
        busy = pytest.raises(
            LedgerBusyError, match=r"another backend of this host has held .*lock for 0.05 s"
        )
        with busy, Ledger(folder).turn(0.05):
            pytest.fail("two had the ledger at once")
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout is not None
        assert other.stdout.readline() == "free\n"
        assert pending(folder) == 9000.0


def test_a_killed_holder_holds_nothing(folder: Path) -> None:
    with backend(folder, "hold") as other:
        other.kill()
        other.wait()
        assert pending(folder) == 0.0


@pytest.mark.parametrize(
    "change",
    [{"start_ticks": 1}, {"boot_id": "another"}, {"pid_ns": "another"}, {"pid": 1 << 30}],
    ids=["a reused pid", "another boot", "another pid namespace", "nobody"],
)
def test_an_entry_of_another_process_does_not_count(folder: Path, change: dict[str, object]) -> None:
    with Ledger(folder).turn():
        pass
    forged = msgspec.structs.replace(identity(), **change)
    entry = Entry(process=forged, root="/r", pending={"GPU-0": 5.0})
    (folder / "0-1-1.json").write_bytes(msgspec.json.encode(entry))
    assert pending(folder) == 0.0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can write in another's name")
def test_an_entry_in_anothers_name_does_not_count(folder: Path) -> None:
    with Ledger(folder).turn():
        pass
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as mine:
        entry = Entry(process=identity(mine.pid), root="/r", pending={"GPU-0": 5.0})
        path = folder / "x.json"
        path.write_bytes(msgspec.json.encode(entry))
        assert pending(folder) == 5.0
        os.chown(path, 65534, 65534)
        assert pending(folder) == 0.0
        assert path.exists()  # it is not ours to remove
        mine.kill()


def test_what_strangers_put_there_is_left_out(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Ledger(folder).turn():
        pass
    (folder / "broken.json").write_text("{")
    (folder / "large.json").write_bytes(b"[" + b" " * (2 << 20) + b"]")
    (folder / "link.json").symlink_to("/etc/passwd")
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    assert pending(folder) == 0.0
    assert {
        name for name in ("broken", "large", "link", "folder", "pipe") if f"{name}.json" in caplog.text
    } == {
        "broken",
        "large",
        "link",
        "folder",
        "pipe",
    }


def test_a_folder_that_is_none_is_not_used(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(real)
    (tmp_path / "file").write_text("")
    for name in ("real", "link", "file"):
        with pytest.raises(LedgerBusyError, match="cannot be used"), Ledger(tmp_path / name).turn():
            pytest.fail("it was used")


@pytest.mark.skipif(os.getuid() != 0, reason="needs a second user")
def test_another_user_takes_part(open_to_all: Path) -> None:
    folder = open_to_all / "ledger"
    with Ledger(folder).turn():
        pass
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from engine.scheduling.ledger import Entry, Ledger\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "ledger = Ledger(Path(sys.argv[1]))\n"
        "with ledger.turn(5) as turn:\n"
        "    turn.publish(Entry(process=ledger.process, root='/r', pending={'GPU-0': 7.0}))\n"
        "print('done', flush=True); sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "done\n"
        assert pending(folder) == 7.0
        other.kill()


def test_a_scheduler_counts_the_others_and_tells_them(folder: Path, tmp_path: Path) -> None:
    card = "GPU-simulated-0"
    simulation = Simulation(gpus=(SimulatedCard(total_mb=24 * GB),), loads=(Load(vram_mb=4 * GB),))
    ours = Backend(World(simulation), tmp_path, ledger=Ledger(folder))
    ours.submit(job("a", marginal_vram_mb=20 * GB))
    with backend(folder, "known", card=card):
        ours.tick()
        assert str(ours.scheduler.decisions.waiting["a"]) == (
            "gpu_memory: needs 20.0 GB; GPU 0 has 24.0 free, 8.8 of it reserved by other backends"
        )
        with Ledger(folder).turn() as turn:
            assert sorted(turn.others.processes.values()) == [
                "run2 of /root/of/other",
                "the backend of /root/of/other",
            ]
    ours.tick()
    assert set(ours.running()) == {"a"}
    (path,) = folder.glob("*.json")
    entry = msgspec.json.decode(path.read_bytes(), type=Entry)
    assert (entry.process, entry.root) == (identity(), str(tmp_path))
    assert entry.pending[card] == 20 * GB
    assert (entry.exclusive, entry.occupied, entry.cold) == ([], [card], None)
    ours.run_for(4)
    entry = msgspec.json.decode(path.read_bytes(), type=Entry)
    assert entry.owners == {ours.world.roots["a"].pid: "a"}
    assert ours.scheduler.decisions.accounts is not None
    assert ours.scheduler.decisions.accounts.cards[card].pool.reserved_mb == 16 * GB  # 4 of it have shown
    entry = msgspec.json.decode(path.read_bytes(), type=Entry)
    assert entry.pending[card] == 20 * GB  # to us: a sample of theirs may be older
    ours.run_for(4)
    entry = msgspec.json.decode(path.read_bytes(), type=Entry)
    assert entry.pending[card] == 16 * GB


def test_backends_with_runs_of_which_nothing_is_known_take_turns_as_these_came(
    folder: Path, tmp_path: Path
) -> None:
    """One that ticks first, and has many, would begin the next as the last one ends."""
    simulation = Simulation(gpus=(SimulatedCard(total_mb=24 * GB),), loads=(Load(vram_mb=4 * GB),))
    with subprocess.Popen(["sleep", "infinity"]) as stand_in:
        ours = Backend(World(simulation), tmp_path / "ours", ledger=Ledger(folder))
        world = World(simulation, clock=ours.world.clock)
        theirs = Backend(world, tmp_path / "theirs", ledger=Ledger(folder, process=identity(stand_in.pid)))
        ours.submit(job("ours0", graph="g0"))
        order: list[str] = []
        for second in range(2000):
            if second == 2:
                theirs.submit(job("theirs", graph="h"))
            if second == 4:
                ours.submit(*(job(f"ours{number}", graph=f"g{number}") for number in (1, 2)))
            ours.tick()
            theirs.tick(0.0)
            order += [run for run in (*ours.running(), *theirs.running()) if run not in order]
        stand_in.kill()
    assert order == ["ours0", "theirs", "ours1", "ours2"]


def test_a_scheduler_starts_nothing_while_the_ledger_is_held(folder: Path, tmp_path: Path) -> None:
    simulation = Simulation(gpus=(SimulatedCard(total_mb=24 * GB),))
    ours = Backend(World(simulation), tmp_path, ledger=Ledger(folder))
    ours.submit(job("a", marginal_vram_mb=GB))
    with backend(folder, "hold"):
        ours.tick()
        assert ours.waiting() == {"a": "ledger_busy"}
    ours.tick()
    assert set(ours.running()) == {"a"}
