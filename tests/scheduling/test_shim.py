from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from engine.scheduling.launchers.spawning import Graces, Spawned, spawn_shim
from engine.scheduling.shim import ExitFile, claim
from engine.store.atomic import write_json
from engine.store.attempts import Attempt, ExitRecord
from engine.store.process_identity import ProcessIdentity, identity, is_alive, send_signal
from tests.fakes.family import KINDS, bury, living, read_family
from tests.scheduling.launching import DEADLINE, GRACE, ORPHAN_GRACE, wait_for

MORE = 2.0


@dataclass
class Bench:
    """A place for attempts, and a backend to follow that is only named."""

    folder: Path

    def __post_init__(self) -> None:
        self.backend = self.folder / "backend.json"
        self.family_file = self.folder / "family.json"
        self.shims: list[Spawned] = []
        self.says(identity())

    def says(self, process: ProcessIdentity, successor: ProcessIdentity | None = None) -> None:
        write_json(self.backend, {"process": process, "successor": successor, "url": "x"})

    def start(self, *command: str, number: int = 1, **graces: float) -> Spawned:
        shim = spawn_shim(
            Attempt.of(self.folder, number),
            command or (sys.executable, "-m", "tests.fakes.family", str(self.family_file)),
            graces=Graces(self.backend, graces.get("grace", GRACE), graces.get("orphan_grace", ORPHAN_GRACE)),
            mark=f"bench/{number}/t",
            cwd=self.folder,
            environment={},
        )
        self.shims.append(shim)
        return shim

    def family(self) -> dict[str, ProcessIdentity]:
        """Started, and all alive."""
        wait_for(lambda: read_family(self.family_file), "the family")
        family = read_family(self.family_file)
        assert set(living(family)) == set(KINDS)
        return family

    def ended(self, shim: Spawned, seconds: float = DEADLINE, number: int = 1) -> ExitRecord:
        shim.process.wait(seconds)
        found = Attempt.of(self.folder, number).read_exit()
        assert found is not None
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for shim in bench.shims:
        shim.process.kill()
        shim.process.wait()
    bury(read_family(bench.family_file))


def family_command(bench: Bench, then: str) -> tuple[str, ...]:
    return sys.executable, "-m", "tests.fakes.family", str(bench.family_file), then


@pytest.mark.parametrize("then", ["hang", "deaf"])
def test_nothing_survives_a_stop(bench: Bench, then: str) -> None:
    shim = bench.start(*family_command(bench, then))
    family = bench.family()
    shim.process.terminate()
    assert wait_for(lambda: not living(family), "their end") < GRACE + MORE
    ended = bench.ended(shim)
    assert (ended.cancelled, ended.stopped_by) == (True, "request")
    assert (ended.rc, ended.signal) == ((0, None) if then == "hang" else (None, signal.SIGKILL))
    assert ended.stray_killed == len(KINDS)
    assert ended.ended_at.startswith("20")


def test_nothing_survives_the_end_of_the_command(bench: Bench) -> None:
    shim = bench.start(*family_command(bench, "3"))
    wait_for(lambda: read_family(bench.family_file), "the family")
    ended = bench.ended(shim)
    assert not living(read_family(bench.family_file))
    assert (ended.rc, ended.signal, ended.cancelled, ended.stopped_by) == (3, None, False, "")
    assert ended.stray_killed == len(KINDS)
    assert shim.process.returncode == 3


def test_nothing_survives_a_sigkill_of_the_command(bench: Bench) -> None:
    shim = bench.start()
    family = bench.family()
    command = int(children_of(shim.process.pid)[0])
    assert send_signal(identity(command), signal.SIGKILL)
    assert wait_for(lambda: not living(family), "their end") < MORE
    ended = bench.ended(shim)
    assert (ended.rc, ended.signal, ended.stopped_by) == (None, signal.SIGKILL, "")


def children_of(pid: int) -> list[str]:
    found = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid=,args="], stdout=subprocess.PIPE, check=True)
    lines = found.stdout.decode().splitlines()
    return [line.split()[0] for line in lines if "tests.fakes.family" in line]


def test_the_second_request_does_not_wait_for_the_grace(bench: Bench) -> None:
    shim = bench.start(*family_command(bench, "deaf"), grace=3600.0)
    family = bench.family()
    shim.process.terminate()
    wait_for(lambda: is_stopping(shim), "its asking")
    assert set(living(family)) == set(KINDS)
    shim.process.terminate()
    assert wait_for(lambda: not living(family), "their end") < MORE
    assert bench.ended(shim).signal == signal.SIGKILL


def is_stopping(shim: Spawned) -> bool:
    return Path(f"/proc/{shim.process.pid}/comm").read_text() == "evt-stopping\n"


def test_output_and_exit_code(bench: Bench) -> None:
    shim = bench.start(
        "sh", "-c", "echo out; echo err >&2; echo $EVALTOWER_ATTEMPT; readlink /proc/self/fd/0"
    )
    assert bench.ended(shim).rc == 0
    assert (bench.folder / "stdout.log").read_text() == f"out\nbench/1/t\n{os.devnull}\n"
    assert (bench.folder / "stderr.log").read_text() == "err\n"
    second = bench.start("sh", "-c", "echo again", number=2)
    bench.ended(second, number=2)
    assert (bench.folder / "stdout.log").read_text() == "again\n"


def test_a_command_that_cannot_be_started(bench: Bench) -> None:
    shim = bench.start("/there/is/none")
    assert bench.ended(shim).rc == 127
    assert "/there/is/none cannot be started" in (bench.folder / "stderr.log").read_text()


def test_the_signals_of_the_spawner_are_not_the_commands(bench: Bench) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
    try:
        shim = bench.start("grep", "^Sig[BI]", "/proc/self/status")
        bench.ended(shim)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    lines = dict(line.split(":\t") for line in (bench.folder / "stdout.log").read_text().splitlines())
    assert {int(mask, 16) for mask in lines.values()} == {0}


def test_without_a_backend_everything_ends_after_the_grace(bench: Bench) -> None:
    with subprocess.Popen(["sleep", "300"]) as backend:
        bench.says(identity(backend.pid))
        shim = bench.start()
        family = bench.family()
        backend.kill()
        backend.wait()
    began = time.monotonic()
    assert wait_for(lambda: not living(family), "their end") < ORPHAN_GRACE + GRACE + MORE
    assert time.monotonic() - began > ORPHAN_GRACE / 2
    ended = bench.ended(shim)
    assert (ended.cancelled, ended.stopped_by, ended.rc) == (False, "orphaned", 0)


@pytest.mark.parametrize("named", ["successor", "next"])
def test_whoever_takes_over_is_followed(bench: Bench, named: str) -> None:
    """A successor that is named, or a backend that is started anew within the grace."""
    with subprocess.Popen(["sleep", "300"]) as first, subprocess.Popen(["sleep", "300"]) as second:
        bench.says(identity(first.pid))
        shim = bench.start("sleep", "300", orphan_grace=3600.0 if named == "next" else 0.0)
        wait_for(lambda: Attempt.of(bench.folder, 1).read_shim(), "its claim")
        wait_for(lambda: follows(shim, first), "its following")
        if named == "successor":
            bench.says(identity(first.pid), successor=identity(second.pid))
        first.kill()
        first.wait()
        if named == "next":
            bench.says(identity(second.pid))
        wait_for(lambda: follows(shim, second), "its following the other")
        assert shim.process.poll() is None
        second.kill()
        second.wait()
        if named == "successor":
            assert bench.ended(shim).stopped_by == "orphaned"


def follows(shim: Spawned, backend: subprocess.Popen[bytes]) -> bool:
    folder = Path(f"/proc/{shim.process.pid}/fdinfo")
    wanted = f"Pid:\t{backend.pid}\n"
    try:
        return any(wanted in file.read_text() for file in folder.iterdir())
    except FileNotFoundError:  # one was closed meanwhile
        return False


def test_a_stranger_with_the_pid_of_the_backend_is_not_followed(bench: Bench) -> None:
    here = identity()
    bench.says(msgspec.structs.replace(here, start_ticks=here.start_ticks - 1))
    shim = bench.start("sleep", "300", orphan_grace=0.0)
    assert bench.ended(shim).stopped_by == "orphaned"


@pytest.mark.parametrize("text", ["", "[1]", '{"process": {"pid": "x"}}'])
def test_a_broken_backend_file_names_nobody(bench: Bench, text: str) -> None:
    bench.backend.write_text(text)
    assert bench.ended(bench.start("sleep", "300", orphan_grace=0.0)).stopped_by == "orphaned"


def test_only_one_of_a_shim_and_a_void_claim_has_the_attempt(bench: Bench) -> None:
    """A backend gives the attempt up at some moment of the shim's start: either that is told, or it began."""
    voided = 0
    for number in range(1, 17):
        attempt = Attempt.of(bench.folder, number)
        began = bench.folder / f"began{number}"
        shim = bench.start("touch", str(began), number=number)
        time.sleep(0.005 * (number % 12))  # spread over its start, which takes 40 ms
        won = attempt.void()
        shim.process.wait(DEADLINE)
        claim = attempt.read_shim()
        assert claim is not None
        assert claim.void == won
        assert began.exists() != won
        assert (attempt.read_exit() is None) == won
        voided += won
    assert voided > 0


def test_a_second_shim_of_an_attempt_starts_nothing(bench: Bench) -> None:
    first = bench.start("sleep", "300")
    wait_for(lambda: Attempt.of(bench.folder, 1).read_shim(), "its claim")
    second = bench.start("touch", str(bench.folder / "twice"))
    assert second.process.wait(DEADLINE) == 3
    assert not (bench.folder / "twice").exists()
    claim = Attempt.of(bench.folder, 1).read_shim()
    assert claim is not None
    assert claim.process == first.identity
    assert is_alive(first.identity)


def test_a_long_path(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * (150 - len(str(tmp_path))) if len(str(tmp_path)) < 150 else "x")
    folder.mkdir()
    bench = Bench(folder)
    assert bench.ended(bench.start("true")).rc == 0


def test_its_record_is_an_identity(bench: Bench) -> None:
    shim = bench.start("sleep", "300")
    wait_for(lambda: Attempt.of(bench.folder, 1).read_shim(), "its claim")
    written = json.loads((bench.folder / "attempts/1/shim.json").read_text())
    assert msgspec.convert(written["process"], ProcessIdentity) == identity(shim.process.pid) == shim.identity


def test_a_copy_with_the_same_number_on_another_machine_takes_nothing_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 7)
    mine, copy = ExitFile(str(tmp_path)), ExitFile(str(tmp_path))
    monkeypatch.undo()
    assert (claim(str(tmp_path)), claim(str(tmp_path))) == (True, False)
    copy.discard()
    mine.write(rc=0)
    assert sorted(os.listdir(tmp_path)) == ["exit.json", "shim.json"]
