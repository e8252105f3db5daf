"""``[slurm]`` of ``evaltower.toml``: what cluster runs are submitted with."""

from __future__ import annotations

from typing import Annotated

import msgspec

AboveZero = Annotated[float, msgspec.Meta(gt=0)]


_OURS = (
    "array",
    "chdir",
    "comment",
    "cpus-per-task",
    "dependency",
    "error",
    "job-name",
    "mem",
    "no-requeue",
    "nodes",
    "ntasks",
    "open-mode",
    "output",
    "requeue",
    "signal",
    "wrap",
)
"""Options that a run depends on: each job has its own."""


class SlurmSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Options of ``sbatch`` by their names, where a run says nothing else; "" leaves them to the cluster.

    gres: in place of ``gpu:1`` for runs that take a card. cpus_per_worker: CPUs that each environment worker
    gets, beside one for the run itself. mem_mb: in place of the estimate. extra: further options, as
    ``--reservation=x``. setup: shell lines before anything of ours, as ``module load cuda``. python: the
    interpreter on the nodes; "" is the backend's. bin: the folder of Slurm's commands; "" looks in PATH.
    poll_sec: how often the cluster is asked, once for all runs. grace_sec: for how long after Slurm's word a
    run's files are waited for, since a shared file system may show them late. server_idle_sec: how long a
    shared server stays without anybody who uses it.
    """

    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    time: str = ""
    gres: str = ""
    cpus_per_worker: AboveZero = 1.0
    mem_mb: AboveZero | None = None
    extra: list[str] = []
    setup: str = ""
    python: str = ""
    bin: str = ""
    poll_sec: AboveZero = 5.0
    grace_sec: AboveZero = 60.0
    server_idle_sec: AboveZero = 120.0

    def __post_init__(self) -> None:
        for option in self.extra:
            name = option.removeprefix("--").partition("=")[0]
            if not option.startswith("--") or any(letter in option for letter in "\r\n"):
                raise ValueError(f"extra {option!r} is no option such as '--reservation=x', on one line")
            if name in _OURS:
                raise ValueError(f"extra {option!r} is set for each job by itself: leave it out")
