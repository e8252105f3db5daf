"""What the clerk does where the cluster's answers are lost, or come late."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.scheduling.launchers.slurm import clerk as module
from engine.scheduling.launchers.slurm.clerk import Clerk
from engine.scheduling.launchers.slurm.commands import (
    Listed,
    SlurmError,
    SlurmLaterError,
    SlurmRefusedError,
    SlurmSilentError,
)
from tests.control.waiting import wait_for

SCRIPT = Path("job.sh")


class PlayedSlurm:
    """A cluster. answers: whether it does. hears: whether it takes what it does not answer to."""

    def __init__(self) -> None:
        self.listed: list[Listed] = []
        self.submitted = 0
        self.told: list[str] = []
        self.answers = True
        self.hears = True
        self.error: SlurmError | None = None

    def submit(self, script: Path) -> str:
        if self.error is not None:
            raise self.error
        if self.answers or self.hears:
            self.submitted += 1
            self.lists("PENDING")
        self._answer()
        return str(self.submitted)

    def lists(self, state: str, comment: str = "c") -> None:
        self.listed = [Listed(job_id=str(max(1, self.submitted)), name="r", comment=comment, state=state)]

    def jobs(self) -> list[Listed]:
        self._answer()
        return self.listed

    def cancel(self, job_ids: list[str]) -> None:
        self.told += [f"kill {number}" for number in job_ids]

    def cancel_pending(self, job_id: str) -> None:
        self._answer()
        self.told.append(f"cancel {job_id}")

    def ask_to_end(self, job_id: str) -> None:
        self._answer()
        self.told.append(f"term {job_id}")

    def _answer(self) -> None:
        if not self.answers:
            raise SlurmSilentError("no answer")


@pytest.fixture
def slurm() -> PlayedSlurm:
    return PlayedSlurm()


@pytest.fixture
def clerk(slurm: PlayedSlurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clerk]:
    monkeypatch.setattr(module, "REST_SEC", 0.001)
    clerk = Clerk(slurm, 0.01)  # type: ignore[arg-type]
    yield clerk
    clerk.close()


def looked(clerk: Clerk, times: int = 3) -> None:
    """Until the cluster was asked so often."""
    for _ in range(times):
        before = clerk.seen_at
        wait_for(lambda before=before: clerk.seen_at != before, "a look")  # type: ignore[misc]


@pytest.mark.parametrize("hears", [True, False])
def test_what_was_submitted_in_silence_is_looked_for_first(
    clerk: Clerk, slurm: PlayedSlurm, hears: bool
) -> None:
    clerk.watch("other")
    looked(clerk)
    slurm.answers, slurm.hears = False, hears
    clerk.submit("c", SCRIPT)
    wait_for(lambda: bool(clerk.problem), "the silence")
    slurm.hears = False
    slurm.answers = True
    wait_for(lambda: clerk.look("c") is not None, "the job")
    looked(clerk)
    assert slurm.submitted == 1
    assert clerk.problem == ""


def test_what_an_earlier_backend_submitted_is_not_submitted_again(clerk: Clerk, slurm: PlayedSlurm) -> None:
    slurm.lists("RUNNING")
    clerk.submit("c", SCRIPT)
    wait_for(lambda: clerk.is_seen("c"), "the job")
    assert slurm.submitted == 0


def test_without_its_commands_it_is_tried_again(clerk: Clerk, slurm: PlayedSlurm) -> None:
    slurm.error = SlurmError("sbatch is not in PATH")
    clerk.submit("c", SCRIPT)
    wait_for(lambda: "PATH" in clerk.problem, "the problem")
    slurm.error = None
    wait_for(lambda: clerk.number("c") == "1", "the job")


def test_what_it_will_not_have_is_told_once(clerk: Clerk, slurm: PlayedSlurm) -> None:
    slurm.error = SlurmRefusedError("sbatch: no")
    clerk.submit("c", SCRIPT)
    wait_for(lambda: clerk.refused("c") == "sbatch: no", "the refusal")
    clerk.forget("c")
    assert clerk.refused("c") is None


def test_a_number_that_is_another_jobs_by_now_is_not_cancelled(clerk: Clerk, slurm: PlayedSlurm) -> None:
    clerk.submit("c", SCRIPT)
    wait_for(lambda: clerk.look("c") is not None, "the job")
    slurm.lists("RUNNING", comment="another's")
    wait_for(lambda: clerk.look("c") is None, "its end")
    clerk.cancel("c")
    clerk.cancel("c", by_force=True)
    looked(clerk)
    assert slurm.told == []


def test_one_that_runs_twice_is_known_by_the_one_that_goes_on(clerk: Clerk, slurm: PlayedSlurm) -> None:
    states = ("RUNNING", "FAILED", "PENDING")
    slurm.listed = [
        Listed(job_id=str(n), name="r", comment="c", state=state) for n, state in enumerate(states)
    ]
    clerk.watch("c")
    wait_for(lambda: clerk.look("c") is not None, "the job")
    assert clerk.number("c") == "0"


def test_what_a_limit_keeps_out_is_tried_again_and_keeps_nobody_else_out(
    slurm: PlayedSlurm, clerk: Clerk
) -> None:
    slurm.error = SlurmLaterError("sbatch: job submit limit")
    clerk.submit("c", SCRIPT)
    wait_for(lambda: clerk.put_off("c") == "sbatch: job submit limit", "it is put off")
    assert clerk.refused("c") is None
    assert not clerk.is_seen("c")
    slurm.error = None
    wait_for(lambda: clerk.number("c") == "1", "it is submitted")
    assert (clerk.put_off("c"), slurm.submitted, clerk.problem) == ("", 1, "")
