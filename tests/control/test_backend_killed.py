"""A backend that is killed at any moment: what it accepted is there once, and goes on."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.control.reader import Reader
from engine.store.attempts import Attempt
from engine.store.jsonl import read_lines
from engine.store.process_identity import is_alive
from engine.store.rundir import RunDir, runs_folder
from engine.store.runs import run_names, view_run
from tests.control.waiting import wait_for

ORPHAN_GRACE_SEC = 30.0


class Killable:
    """A backend's process, and what it has said. ``said``: (word, run)."""

    def __init__(self, root: Path, orphan_grace_sec: float = ORPHAN_GRACE_SEC) -> None:
        command = [sys.executable, "-m", "tests.fakes.backend_process", str(root), str(orphan_grace_sec)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said: list[tuple[str, ...]] = []
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()
        wait_for(lambda: bool(self.said), "the backend")

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(tuple(line.split()))

    def tell(self, *lines: str) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write("".join(f"{line}\n" for line in lines))
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it was killed meanwhile

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._listener.join()

    def end(self) -> None:
        self.tell("end")
        assert self.process.wait(100) == 0
        self._listener.join()


@contextmanager
def killed_at_last(root: Path, orphan_grace_sec: float = ORPHAN_GRACE_SEC) -> Iterator[Killable]:
    backend = Killable(root, orphan_grace_sec)
    try:
        yield backend
    finally:
        backend.kill()


def runs_of(root: Path) -> list[RunDir]:
    return [RunDir(runs_folder(root) / name) for name in run_names(root)]


def alive(root: Path) -> dict[str, int]:
    """The shims that live, by run."""
    latest = {run.run_id: Attempt.latest(run.path) for run in runs_of(root)}
    shims = {run_id: attempt.read_shim() for run_id, attempt in latest.items() if attempt}
    found = {run_id: shim.process for run_id, shim in shims.items() if shim and shim.process}
    return {run_id: process.pid for run_id, process in found.items() if is_alive(process)}


def begun(run: RunDir) -> int:
    """How many attempts at it had a process."""
    folders = (run.path / "attempts").iterdir() if (run.path / "attempts").exists() else []
    shims = [Attempt(folder).read_shim() for folder in folders]
    return sum(shim is not None and not shim.void for shim in shims)


def kill_again_and_again(root: Path, moments: int, seed: int) -> None:
    chance = random.Random(seed)
    answers: dict[str, str] = {}
    accepted: list[str] = []
    for moment in range(moments):
        with killed_at_last(root) as backend:
            missing = 23 - sum(not run.is_done() for run in runs_of(root))
            backend.tell(*["start nap"] * max(2, min(missing, 8)))
            victims = [run for run in accepted if run not in answers]
            if victims and moment % 3 == 2:
                backend.tell(f"cancel {chance.choice(victims)}")
            time.sleep(chance.uniform(0.0, 0.9))  # the moment
            backend.process.kill()
            before = alive(root)
        for word, *rest in backend.said:
            if word == "accepted":
                accepted += rest
            elif word in ("cancelled", "cancelling", "over"):
                answers[rest[0]] = word
        with_pids = {run: pid for run, pid in alive(root).items() if run in before}
        assert all(before[run] == pid for run, pid in with_pids.items())
    last = Killable(root)
    try:
        last.end()
    finally:
        last.kill()
    assert len(accepted) == len(set(accepted)) > moments
    there = {run.run_id for run in runs_of(root)}
    assert there.issuperset(accepted)
    for run in runs_of(root):
        assert run.is_done(), f"{run.run_id} is lost"
        status, answer = view_run(run).status, answers.get(run.run_id)
        allowed = {"cancelled"} if answer == "cancelled" else {"completed"}
        allowed |= {"cancelled"} if answer == "cancelling" else set()
        unanswered = run.run_id in accepted and answer is None
        assert status in (allowed | {"cancelled"} if unanswered else allowed), (run.run_id, status, answer)
        assert begun(run) == (1 if status == "completed" else begun(run)) <= 1, f"{run.run_id} began twice"
        rows = Counter(read_lines(run.episode_rows))
        assert max(rows.values(), default=1) == 1
        assert status != "completed" or len(rows) == 2


@pytest.fixture(autouse=True)
def scanned(reader: Reader) -> None:
    """A backend that is killed soon would never come to the end of its first scan."""
    reader.nodesets()


def test_killed_at_random_moments_it_loses_doubles_and_misjudges_nothing(root: Path) -> None:
    kill_again_and_again(root, moments=6, seed=20)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_at_a_hundred_random_moments(root: Path) -> None:
    kill_again_and_again(root, moments=100, seed=4)


def test_what_runs_is_taken_up_as_it_is(root: Path) -> None:
    with killed_at_last(root) as backend:
        backend.tell(*["start hang"] * 5)
        wait_for(lambda: len(alive(root)) == 3, "three runs")
        running = alive(root)
        wait_for(lambda: len(backend.said) == 6, "the answers")
    assert alive(root) == running
    with killed_at_last(root) as backend:
        assert "were under way when this backend began, and were taken up" in " ".join(backend.said[0])
        assert alive(root) == running
        first = min(running)
        backend.tell(f"cancel {first}")
        wait_for(lambda: view_run(RunDir(runs_folder(root) / first)).status == "cancelled", "its end")
        wait_for(lambda: len(alive(root).keys() - {first}) == 3, "the next in the queue")
        backend.tell(*(f"cancel {run.run_id}" for run in runs_of(root)), "end")
        backend.process.wait(60)
    assert {view_run(run).status for run in runs_of(root)} == {"cancelled"}
    assert all(begun(run) <= 1 for run in runs_of(root))


@pytest.mark.slow
def test_nobody_takes_them_up_and_they_end(root: Path) -> None:
    with killed_at_last(root, orphan_grace_sec=0.5) as backend:
        backend.tell("start deaf", "start nap", "start deaf", "start deaf")
        wait_for(lambda: len(alive(root)) == 3, "three runs")
    wait_for(lambda: not alive(root), "the end of the orphans")
    with killed_at_last(root) as backend:
        wait_for(lambda: all(run.is_done() or run.run_id in alive(root) for run in runs_of(root)), "order")
        found = Counter(view_run(run).status for run in runs_of(root) if run.run_id not in alive(root))
        assert found["aborted"] >= 2
        backend.tell(*(f"cancel {run}" for run in alive(root)), "end")
        backend.process.wait(60)
