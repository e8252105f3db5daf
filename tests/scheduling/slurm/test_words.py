"""Every state and reason of Slurm's in our words."""

from __future__ import annotations

import pytest

from engine.scheduling.launchers.slurm.commands import Listed
from engine.scheduling.launchers.slurm.words import (
    BOX_FAILED,
    RUNS,
    WAITS,
    end_of,
    gpus_of,
    is_over,
    reason_of,
)

BASE = {
    "PENDING": "waits", "RUNNING": "runs", "SUSPENDED": "runs", "COMPLETED": "over", "CANCELLED": "over",
    "FAILED": "over", "TIMEOUT": "over", "NODE_FAIL": "over", "PREEMPTED": "over", "BOOT_FAIL": "over",
    "DEADLINE": "over", "OUT_OF_MEMORY": "over",
}  # fmt: skip
"""Slurm's base states, which have been the same since its release 17.02."""

FLAGS = {
    "CONFIGURING": "waits", "REQUEUED": "waits", "REQUEUE_FED": "waits", "REQUEUE_HOLD": "waits",
    "SPECIAL_EXIT": "waits", "RESV_DEL_HOLD": "waits", "COMPLETING": "runs", "STOPPED": "runs",
    "SIGNALING": "runs", "STAGE_OUT": "runs", "RESIZING": "runs", "REVOKED": "over", "LAUNCH_FAILED": "over",
    "POWER_UP_NODE": "runs", "SOMETHING_NEW": "runs",
}  # fmt: skip


def job(state: str = "PENDING", reason: str = "", **more: str) -> Listed:
    return Listed(job_id="7", name="r", comment="c", state=state, reason=reason, **more)


@pytest.mark.parametrize(("state", "is_so"), [*BASE.items(), *FLAGS.items()])
def test_each_state_is_one_of_three(state: str, is_so: str) -> None:
    assert ("waits" if state in WAITS else "over" if is_over(state) else "runs") == is_so
    assert not (state in RUNS and is_so != "runs")
    if is_so == "over":
        told = end_of(job(state))
        assert told.endswith(f"(Slurm: {state}, job 7)")
        assert not told.startswith("it ended (")
    else:
        assert state not in BOX_FAILED


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("Resources", "what it needs is taken by others at the moment (Slurm: Resources)"),
        ("Priority", "jobs of a higher priority go first (Slurm: Priority)"),
        ("JobHeldUser", "it is held: scontrol release lets it go on (Slurm: JobHeldUser)"),
        ("Dependency", "a job that it depends on has not begun (Slurm: Dependency)"),
        ("DependencyNeverSatisfied", "so that it never begins: cancel it (Slurm: DependencyNeverSatisfied)"),
        (
            "ReqNodeNotAvail, UnavailableNodes:n2",
            "is down, drained or reserved (Slurm: ReqNodeNotAvail, UnavailableNodes:n2)",
        ),
        ("Nodes required for job are DOWN, DRAINED or reserved", "a node that it needs is down, drained"),
        ("ReservationDeleted", "waits: Slurm: ReservationDeleted"),
        ("SomethingNew", "waits: Slurm: SomethingNew"),
        ("", "waits: Slurm has not looked at it yet"),
    ],
)
def test_why_it_waits(reason: str, told: str) -> None:
    found = reason_of(job(reason=reason))
    assert found.code == "cluster_queue"
    assert told in found.text
    assert found.text.startswith("Slurm job 7 waits")


def test_where_and_until_when() -> None:
    assert "waits in partition big: " in reason_of(job(reason="Priority", partition="big")).text
    soon, never = "2001-01-01T00:00:00", "2999-01-01T00:00:00"
    assert reason_of(job(start=soon)).text.endswith(f"; it is expected to begin at {soon}")
    assert "expected" not in reason_of(job(start=never)).text
    assert "expected" not in reason_of(job(start="Unknown")).text


@pytest.mark.parametrize(
    ("gres", "count"),
    [
        ("", 0), ("gres:gpu:2", 2), ("gpu:a100:1", 1), ("gres/gpu=4", 4), ("gpu", 1), ("gres:gpu", 1),
        ("gres:gpu:h100:8(S:0-1)", 8), ("gres:shard:3", 0), ("gres:gpu:1,gres:nic:2", 1),
        ("gres:gpu:a:1,gres:gpu:b:2", 3),
    ],
)  # fmt: skip
def test_gpus(gres: str, count: int) -> None:
    assert gpus_of(gres) == count


def test_a_node_that_went_away_under_a_job_is_told_whatever_slurm_calls_it() -> None:
    told = end_of(job("FAILED", "JobLaunchFailure"))
    assert told == "its node failed, or was lost (Slurm: FAILED, job 7)"
