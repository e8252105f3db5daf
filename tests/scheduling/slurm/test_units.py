"""How an attempt stands by its own files, by what Slurm says, and by what neither says."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.scheduling.launchers.slurm import units
from engine.scheduling.launchers.slurm.commands import Listed
from engine.scheduling.launchers.slurm.units import Unit, comment_of
from engine.store.atomic import write_json
from engine.store.process_identity import identity
from engine.store.records import Job
from engine.store.rundir import RunDir
from tests.fakes.finished_runs import make_run
from tests.fakes.played_clerk import PlayedClerk

GRACE = 60.0


class Case:
    """One attempt, its clerk, and the time."""

    def __init__(self, root: Path, now: list[float]) -> None:
        self.run: RunDir = make_run(root)
        self.run.done.unlink()
        self.now = now
        self.clerk = PlayedClerk()
        job = Job(run_id=self.run.run_id, state="started", token="t")
        self.comment = comment_of(job)
        write_json(self.run.job, job)
        self.unit = Unit(self.run, job, self.clerk, GRACE)  # type: ignore[arg-type]
        self.unit.attempt.path.mkdir(parents=True)

    def set(self, words: str) -> Case:
        """``done exit shim void`` are files; ``silent``, ``unseen`` and ``refused`` are the clerk's; words in
        capitals are Slurm's."""
        for word in words.split():
            match word:
                case "done":
                    self.run.mark_done()
                case "exit":
                    write_json(self.unit.attempt.path / "exit.json", {"rc": 0})
                case "shim":
                    write_json(self.unit.attempt.path / "shim.json", {"process": identity()})
                case "void":
                    assert self.unit.attempt.void()
                case "silent":
                    self.clerk.problem = "squeue: no answer"
                case "unseen":
                    self.clerk.seen = False
                case "refused":
                    self.clerk.refusals[self.comment] = "sbatch: no"
                case state:
                    self.clerk.jobs[self.comment] = Listed(
                        job_id="7", name="r", comment=self.comment, state=state
                    )
        return self

    def stands(self, *, ending: bool = False, after: float = 0.0) -> str:
        self.now[0] += after
        return self.unit.stand(ending=ending).kind

    @property
    def is_void(self) -> bool:
        claim = self.unit.attempt.read_shim()
        return claim is not None and claim.void


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    now = [1000.0]
    monkeypatch.setattr(units, "time", SimpleNamespace(monotonic=lambda: now[0]))
    # Where the clerk has looked, it has looked for all.
    monkeypatch.setattr(PlayedClerk, "is_seen", lambda self, comment: self.seen)
    return Case(tmp_path, now)


@pytest.mark.parametrize(
    ("words", "at_once", "when_due", "ending"),
    [
        # Its result beats everything; what is left of its processes is ended.
        ("done", "ended", "ended", "ended"),
        ("done shim NODE_FAIL", "ended", "ended", "ended"),
        ("done shim COMPLETED", "ended", "ended", "ended"),
        ("done shim exit RUNNING", "ended", "ended", "ended"),
        ("done shim RUNNING", "runs", "lingers", "runs"),
        ("done shim PENDING", "runs", "lingers", "runs"),  # Slurm was asked before it began
        ("done refused", "ended", "ended", "ended"),
        # Then that it was refused, then how its own processes ended.
        ("refused", "refused", "refused", "refused"),
        ("shim exit RUNNING", "ended", "ended", "ended"),
        ("shim exit silent", "ended", "ended", "ended"),
        # Then what Slurm says of one that it has.
        ("PENDING", "waits", "waits", "waits"),
        ("REQUEUE_HOLD", "waits", "waits", "waits"),
        ("RUNNING", "runs", "runs", "runs"),
        ("shim RUNNING", "runs", "runs", "runs"),
        ("shim PENDING", "runs", "runs", "runs"),  # it has begun since
        ("shim RUNNING silent", "runs", "runs", "runs"),
        ("shim SUSPENDED", "runs", "runs", "runs"),
        ("shim SOMETHING_NEW", "runs", "runs", "runs"),
        # Of one that is over, its files are waited for; one that has not begun never does.
        ("shim NODE_FAIL", "runs", "ended", "runs"),
        ("shim CANCELLED", "runs", "ended", "runs"),
        ("shim FAILED silent", "runs", "ended", "runs"),
        ("CANCELLED", "ended", "ended", "ended"),
        ("FAILED", "ended", "ended", "ended"),
        ("NODE_FAIL", "never", "never", "ended"),
        ("PREEMPTED", "never", "never", "ended"),
        # Of one that Slurm does not know, as of a controller that lost its memory.
        ("", "runs", "never", "ended"),
        ("shim", "runs", "ended", "runs"),
        ("void", "never", "never", "ended"),
        # Of one of which nobody has heard.
        ("unseen", "waits", "waits", "ended"),
        ("unseen silent", "waits", "waits", "ended"),
        ("unseen silent shim", "runs", "runs", "runs"),
        ("silent", "waits", "waits", "ended"),
        ("silent shim", "runs", "runs", "runs"),
    ],
)
def test_the_order_of_truth(
    case: Case, tmp_path: Path, words: str, at_once: str, when_due: str, ending: str
) -> None:
    """``ending``: at once, of one that is to end."""
    asked = Case(tmp_path / "asked", case.now).set(words)
    assert case.set(words).stands() == at_once
    assert case.stands(after=GRACE) == when_due
    assert asked.stands(ending=True) == ending
    if "shim" not in words and {at_once, when_due} & {"never"}:
        assert case.is_void


def test_what_it_may_come_to_be_again(case: Case) -> None:
    assert case.set("shim RUNNING").stands() == "runs"
    assert case.set("NODE_FAIL").stands() == "runs"
    assert case.set("RUNNING").stands(after=GRACE) == "runs"
    assert case.set("NODE_FAIL").stands() == "runs"
    assert "its files are waited for" in case.unit.told
    assert case.stands(after=GRACE - 1) == "runs"
    assert case.stands(after=1) == "ended"
    assert "its node failed, or was lost (Slurm: NODE_FAIL, job 7)" in case.unit.told


def test_one_that_nobody_knows_goes_on_while_it_writes(case: Case) -> None:
    case.set("shim")
    for second in range(5):
        os.utime(case.run.progress, ns=(0, second))
        assert case.stands(after=GRACE - 1) == "runs"
    assert case.stands(after=GRACE) == "ended"


def test_it_is_asked_to_end_more_and_more_firmly(case: Case) -> None:
    def asked(after: float, grace: float = 30.0) -> list[bool]:
        case.now[0] += after
        case.unit.end(grace, 30.0)
        return [by_force for _, by_force in case.clerk.cancelled]

    assert asked(0) == [False]
    assert asked(20) == [False]
    assert asked(0, grace=10.0) == [False, False]
    assert asked(4, grace=10.0) == [False, False]
    assert asked(2, grace=10.0) == [False, False, True]
    assert asked(100) == [False, False, True]
