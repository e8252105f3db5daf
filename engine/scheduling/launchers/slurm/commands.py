"""Slurm by its commands, as texts in fields that every release has had; its JSON changes with each.

Everything here may take as long as the cluster takes to answer, ``ANSWER_SEC`` at most.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

ANSWER_SEC = 30.0

_FIELDS = ("%i", "%j", "%k", "%T", "%r", "%N", "%b", "%S", "%V", "%P")
_SEPARATOR = "\x1f"

_UNWANTED = (
    "SQUEUE_",
    "SBATCH_",
    "SCANCEL_",
    "SINFO_",
    "SCONTROL_",
    "SLURM_TIME_FORMAT",
    "CUDA_VISIBLE_DEVICES",
)
"""What an operator may have set for himself would change what is printed, or submitted."""


class SlurmError(Exception):
    """What a command of Slurm's answered, or that it did not. Says which."""


class SlurmRefusedError(SlurmError):
    """The cluster will never take this job as it is."""


class SlurmLaterError(SlurmError):
    """The cluster does not take this job now, and may later."""


class SlurmSilentError(SlurmError):
    """The controller did not answer: nobody knows what it did."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A job as ``squeue`` tells it. state, reason: in Slurm's words. gres: what each node of it has."""

    job_id: str
    name: str
    comment: str
    state: str
    reason: str = ""
    nodes: str = ""
    gres: str = ""
    start: str = ""
    submitted: str = ""
    partition: str = ""


class Slurm:
    """The commands in ``folder``; "" is those in PATH."""

    def __init__(self, folder: str = "") -> None:
        self._folder = folder

    def path_of(self, command: str) -> str | None:
        """Where a command lies, as ``sbatch``; None where it does not."""
        return shutil.which(command, path=self._folder or None)

    def submit(self, script: Path) -> str:
        """Its job's number. SlurmRefusedError where it can never run; SlurmSilentError where nobody knows
        whether it was taken."""
        return self._run("sbatch", ["--parsable", str(script)]).strip().partition(";")[0]

    def could_run(self, options: Sequence[str]) -> None:
        """SlurmRefusedError where no node could ever take such a job. Submits nothing."""
        self._run("sbatch", ["--test-only", *options, "--wrap=true"])

    def jobs(self) -> list[Listed]:
        """This user's jobs: those that wait or run, and those that ended in the last minutes."""
        user = str(os.getuid())
        wanted = _SEPARATOR.join(_FIELDS)
        return parse_jobs(self._run("squeue", ["-h", "-a", "-t", "all", "-u", user, "-o", wanted]))

    def cancel(self, job_ids: Iterable[str]) -> None:
        """End them by force, in the cluster's own time. One that is not there any more is no error."""
        if ids := list(job_ids):
            self._scancel(*ids)

    def cancel_pending(self, job_id: str) -> None:
        """End it if it has not begun."""
        self._scancel("--state=PENDING", job_id)

    def ask_to_end(self, job_id: str) -> None:
        """SIGTERM to its script alone, which ends what is below it."""
        self._scancel("--batch", "--signal=TERM", job_id)

    def show(self, job_id: str) -> dict[str, str]:
        """``scontrol show job``: field → value; empty for one that is not known any more."""
        try:
            return parse_fields(self._run("scontrol", ["--oneliner", "show", "job", job_id]))
        except SlurmSilentError:
            raise
        except SlurmError:
            return {}

    def capacities(self, partition: str) -> list[tuple[int, int, str]]:
        """(CPUs, MB, gres) of each node of a partition, or of several with commas; "" is the default one."""
        if not partition:
            names = (name for name, _, _ in self.partitions())
            partition = next((name.removesuffix("*") for name in names if name.endswith("*")), "")
        of = ["-p", partition] if partition else ["-a"]
        lines = self._run("sinfo", ["-h", "-N", *of, "-o", "%N|%c|%m|%G"]).splitlines()
        nodes = {name: (cpus, mb, gres) for name, cpus, mb, gres in (line.split("|") for line in lines)}
        return [(int(cpus), int(mb), gres) for cpus, mb, gres in nodes.values()]

    def partitions(self) -> list[tuple[str, str, str]]:
        """(name, state, gres of its nodes), each as often as they differ; the default one's name has a ``*``
        behind it."""
        lines = self._run("sinfo", ["-h", "-a", "-o", "%P|%a|%G"]).splitlines()
        return [(name, state, gres) for name, state, gres in (line.split("|") for line in lines)]

    def nodes(self) -> list[tuple[str, str]]:
        """(name, state) of every node."""
        lines = self._run("sinfo", ["-h", "-a", "-N", "-o", "%N|%T"]).splitlines()
        return list(dict.fromkeys((name, state) for name, state in (line.split("|") for line in lines)))

    def version(self) -> str:
        return self._run("sinfo", ["--version"]).strip()

    def _scancel(self, *arguments: str) -> None:
        try:
            self._run("scancel", arguments)
        except SlurmError as error:
            if not all(any(words in line for words in _NOTHING_TO_END) for line in str(error).split("; ")):
                raise

    def _run(self, command: str, arguments: Sequence[str]) -> str:
        path = self.path_of(command)
        if path is None:
            where = self._folder or "PATH"
            raise SlurmError(f"{command} is not in {where}: install Slurm's client, or set [slurm] bin")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_UNWANTED)}
        try:
            done = subprocess.run(
                [path, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                env={**environment, "LC_ALL": "C.UTF-8"},
                timeout=ANSWER_SEC,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SlurmSilentError(f"{command} did not answer within {ANSWER_SEC:g} s") from None
        except OSError as error:
            raise SlurmError(f"{command} cannot be run: {error}") from error
        if done.returncode:
            raise told(command, done.stderr or done.stdout or f"exit code {done.returncode}")
        return done.stdout


_NOTHING_TO_END = ("Invalid job id specified", "already completing or completed")

_SILENT = (
    "unable to contact slurm controller",
    "connection refused",
    "timed out",
    "connection reset",
    "zero bytes were transmitted",
    "communication",
    "try again",
    "slurm temporarily unable to accept job",
    "resource temporarily unavailable",
)


_LATER = (
    "accounting/qos policy",
    "submit limit",
    "maxsubmit",
    "munge",
    "authentication",
)
"""A limit that others' ends make room under, or a service that is down."""


_UNCONFIGURED = (
    "configuration source",
    "fetch_config",
    "failed to fetch config",
    "dns srv",
    "res_nsearch",
    "slurm.conf",
)
"""Its client does not know which cluster is meant: nothing was asked of any."""


def told(command: str, output: str) -> SlurmError:
    """What a command that failed said."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    text = "; ".join(lines) or "it failed without a word"
    said = text.removeprefix(f"{command}: ").removeprefix("error: ")
    lowered = text.lower()
    silent = any(words in lowered for words in _SILENT)
    if silent and not any(words in lowered for words in _UNCONFIGURED):
        return SlurmSilentError(f"{command}: {said}")
    if any(words in lowered for words in _LATER):
        return SlurmLaterError(f"{command}: {said}")
    if command == "sbatch" and not any(words in lowered for words in _UNCONFIGURED):
        return SlurmRefusedError(f"{command}: {said}")
    return SlurmError(f"{command}: {said}")


def parse_jobs(output: str) -> list[Listed]:
    """The lines of ``squeue``. One that is none, as of a job name with a line break, is left out."""
    found = []
    for line in output.splitlines():
        fields = [field.strip() for field in line.split(_SEPARATOR)]
        if len(fields) == len(_FIELDS):
            job_id, name, comment, state, reason, nodes, gres, start, submitted, partition = fields
            found.append(
                Listed(
                    job_id=job_id,
                    name=name,
                    comment=comment,
                    state=state,
                    reason="" if reason == "None" else reason,
                    nodes=nodes,
                    gres="" if gres in ("N/A", "(null)") else gres,
                    start="" if start == "N/A" else start,
                    submitted=submitted,
                    partition=partition,
                )
            )
    return found


def parse_fields(output: str) -> dict[str, str]:
    """``Key=Value`` pairs of one line of ``scontrol``; values may hold ``=``, but no spaces."""
    pairs = (word.partition("=") for word in output.split())
    return {key: value for key, sign, value in pairs if sign}
