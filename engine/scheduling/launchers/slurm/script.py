"""The job script of an attempt: the same entry point as on this machine, under the same shim."""

from __future__ import annotations

import math
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from engine.scheduling.launchers.spawning import SHIM
from engine.scheduling.starts import JobAsk
from engine.store.attempts import LOGS, MARK, Attempt
from engine.store.importable import importable
from engine.store.slurm_settings import SlurmSettings

SCRIPT = "job.sh"
"""In an attempt's folder."""

SIGNAL_SEC = 60
"""So long before its time on the cluster is over a run is told to end."""

_PLATE = "#!/bin/sh\n# Written by Evaltower for this attempt; what it says is what was submitted.\n"


class JobScript(msgspec.Struct, frozen=True, kw_only=True):
    """What is submitted. name, comment: by which the job is known. ask: of one node. after: numbers of jobs
    that must have begun. command: of our Python, behind the shim. root: where it runs."""

    attempt: Attempt
    name: str
    comment: str
    mark: str
    partition: str
    ask: JobAsk
    root: Path
    command: Sequence[str]
    grace_sec: float
    after: Sequence[str] = ()

    def text(self, settings: SlurmSettings) -> str:
        """The whole file."""
        options = [*self._options(settings), *settings.extra]
        lines = [f"#SBATCH {option}" for option in options]
        return _PLATE + "\n".join([*lines, "", *self._exports(), settings.setup, self._start(settings), ""])

    def _options(self, settings: SlurmSettings) -> list[str]:
        out, err = (self.attempt.path.absolute() / name for name in LOGS)
        asked = {
            "job-name": self.name,
            "comment": self.comment,
            "chdir": str(self.root),
            "output": _pattern(out),
            "error": _pattern(err),
            "open-mode": "append",
            "nodes": "1",
            "ntasks": "1",
            **sizes(self.ask, self.partition, settings),
            "signal": f"B:TERM@{SIGNAL_SEC}",
            "dependency": ",".join(f"after:{number}" for number in self.after),
        }
        return ["--no-requeue", *(f"--{name}={_quoted(value)}" for name, value in asked.items() if value)]

    def _exports(self) -> list[str]:
        ours = {MARK: self.mark, **_found_by(os.environ)}
        lines = [f"export {name}={shlex.quote(value)}" for name, value in ours.items()]
        # Without GPUs of its own it sees none, whatever the shell of whoever submitted it saw.
        return [*lines, 'export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES-}"']

    def _start(self, settings: SlurmSettings) -> str:
        python = settings.python or sys.executable
        shim = [python, "-S", "-E", "-P", str(SHIM), str(self.attempt.path.absolute()), ""]
        shim += [f"{self.grace_sec:g}", "0", "--", python, *self.command]
        return "exec " + shlex.join(shim)


def sizes(ask: JobAsk, partition: str, settings: SlurmSettings) -> dict[str, str]:
    """The options that decide whether, and where, a job can run at all."""
    gres = settings.gres if ask.gpus and settings.gres else f"gpu:{ask.gpus}" if ask.gpus else ""
    return {
        "partition": partition or settings.partition,
        "account": settings.account,
        "qos": settings.qos,
        "constraint": settings.constraint,
        "time": settings.time,
        "cpus-per-task": str(1 + math.ceil(ask.workers * settings.cpus_per_worker)),
        "mem": f"{math.ceil(settings.mem_mb or ask.mem_mb)}M",
        "gres": gres,
    }


def test_options(ask: JobAsk, partition: str, settings: SlurmSettings) -> list[str]:
    """For ``sbatch --test-only``: whether such a job could ever run."""
    asked = sizes(ask, partition, settings)
    return [*(f"--{name}={value}" for name, value in asked.items() if value), *settings.extra]


def _quoted(value: str) -> str:
    """As ``sbatch`` reads the lines of a script, which is not as a shell does."""
    if not re.search(r"""[\s"'\\#]""", value):
        return value
    return '"' + re.sub(r"""(["\\])""", r"\\\1", value) + '"'


def _pattern(path: Path) -> str:
    return str(path).replace("%", "%%")


def _found_by(environment: Mapping[str, str]) -> dict[str, str]:
    """What our Python needs to find us, where we are not installed."""
    path = importable(environment).get("PYTHONPATH")
    return {"PYTHONPATH": path} if path else {}
