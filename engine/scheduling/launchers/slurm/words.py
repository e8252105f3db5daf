"""What Slurm says of a job, in our words, and with its own."""

from __future__ import annotations

from datetime import datetime, timedelta

from engine.scheduling.launchers.slurm.commands import Listed
from engine.scheduling.reasons import Reason

WAITS = frozenset(
    {
        "PENDING",
        "CONFIGURING",
        "REQUEUED",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "RESV_DEL_HOLD",
        "SPECIAL_EXIT",
    }
)
RUNS = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"})
"""What is neither of these nor a known end (:func:`is_over`), as of a later Slurm, goes on as well."""

BOX_FAILED = frozenset({"NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL", "PREEMPTED", "REVOKED"})
"""Ends that say nothing of the job: one that had not begun is handed over again."""

_WAITING = {
    "Resources": "what it needs is taken by others at the moment",
    "Priority": "jobs of a higher priority go first",
    "DependencyNeverSatisfied": "a job that it depends on has ended, so that it never begins: cancel it",
    "Dependency": "a job that it depends on has not begun",
    "JobHeldUser": "it is held: scontrol release lets it go on",
    "JobHeldAdmin": "an administrator of the cluster holds it",
    "BeginTime": "its begin time has not come",
    "ReqNodeNotAvail": "a node that it needs is down, drained or reserved",
    "NodeDown": "a node that it needs is down",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition takes no jobs now",
    "PartitionNodeLimit": "its partition has not so many nodes",
    "PartitionTimeLimit": "it asks for more time than its partition gives",
    "AssocGrpGRES": "the account's limit of GPUs is reached",
    "AssocMaxJobsLimit": "the account's limit of running jobs is reached",
    "QOSMaxJobsPerUserLimit": "the limit of running jobs of one user is reached",
    "QOSMaxGRESPerUser": "the limit of GPUs of one user is reached",
    "QOSMaxCpuPerUserLimit": "the limit of CPUs of one user is reached",
    "QOSMaxMemoryPerUser": "the limit of memory of one user is reached",
    "Nodes required for job are DOWN": "a node that it needs is down, drained, or kept for others",
    "Licenses": "it waits for a licence",
    "Reservation": "it waits for its reservation",
    "Cleaning": "its last node is being cleaned up",
    "launch failed requeued held": "its node could not start it, and Slurm holds it",
}

FORETOLD = timedelta(days=14)

_ENDS = {
    "NODE_FAIL": "its node failed, or was lost",
    "BOOT_FAIL": "its node did not boot",
    "TIMEOUT": "its time on the cluster was over: set [slurm] time, or --timeout, higher, and resume it",
    "DEADLINE": "its deadline on the cluster had passed",
    "OUT_OF_MEMORY": "it took more memory than it was given: set [slurm] mem_mb higher, and resume it",
    "CANCELLED": "it was cancelled on the cluster, and not from here",
    "PREEMPTED": "another job took its place",
    "LAUNCH_FAILED": "its node could not start it",
    "RECONFIG_FAIL": "its node could not be made ready for it",
    "REVOKED": "another cluster took it",
    "FAILED": "its job ended before the run was over: see stderr.log, and [slurm] setup",
    "COMPLETED": "its job ended before the run was over: see stderr.log, and [slurm] setup",
}


_LOST = "JobLaunchFailure"
"""What a job fails with, too, whose node went away under it."""


def is_over(state: str) -> bool:
    """Whether a job ends with such a state; all that Slurm ever had are known."""
    return state in _ENDS


def reason_of(job: Listed) -> Reason:
    """Why a job waits that the cluster has."""
    where = f" in partition {job.partition}" if job.partition else ""
    slurm = job.reason or job.state
    why = next((words for name, words in _WAITING.items() if _is_reason(slurm, name)), None)
    told = f"{why} (Slurm: {slurm})" if why else f"Slurm: {slurm}"
    if not job.reason and job.state == "PENDING":
        told = "Slurm has not looked at it yet"
    begins = f"; it is expected to begin at {job.start}" if _is_soon(job.start) else ""
    return Reason("cluster_queue", f"Slurm job {job.job_id} waits{where}: {told}{begins}")


def _is_reason(slurm: str, name: str) -> bool:
    """Some have more behind them, as ``ReqNodeNotAvail, UnavailableNodes:n2``."""
    return slurm.startswith(name) and not slurm[len(name) :][:1].isalpha()


def _is_soon(start: str) -> bool:
    """Where the jobs before it have no time limit, Slurm takes each for a year."""
    try:
        return datetime.fromisoformat(start) - datetime.now() < FORETOLD
    except ValueError:
        return False


def end_of(job: Listed) -> str:
    """How a job ended of which nothing else is known."""
    why = _ENDS["NODE_FAIL"] if job.reason == _LOST else _ENDS.get(job.state)
    return f"{why or 'it ended'} (Slurm: {job.state}, job {job.job_id})"


def gpus_of(gres: str) -> int:
    """The GPUs of a job's node, as ``squeue`` tells them: ``gres:gpu:2``, ``gpu:a100:1``."""
    count = 0
    for one in gres.split(","):
        parts = one.removeprefix("gres:").removeprefix("gres/").replace("=", ":").split("(")[0].split(":")
        if parts[0] == "gpu":
            count += int(parts[-1]) if parts[-1].isdecimal() else 1
    return count
