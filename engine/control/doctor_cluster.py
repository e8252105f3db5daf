"""The Slurm cluster of this machine, if there is one, and what would stop a run on it."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Literal
from uuid import uuid4

import msgspec

from engine.control.reports import DoctorItem
from engine.scheduling.launchers.slurm.commands import Listed, Slurm, SlurmError, SlurmRefusedError
from engine.scheduling.launchers.slurm.script import sizes
from engine.scheduling.launchers.slurm.words import RUNS, WAITS, reason_of
from engine.scheduling.starts import JobAsk
from engine.store.importable import importable
from engine.store.settings import FILE, SettingsError, read_settings
from engine.store.slurm_settings import SlurmSettings

COMMANDS = ("sbatch", "squeue", "scancel", "scontrol", "sinfo")
ANSWER_WITHIN_SEC = 30.0
"""What a small job may take to begin, run, and be seen."""
LOOK_AGAIN_SEC = 0.5
CLOCKS_APART_SEC = 2.0
NODES_NAMED = 5
NO_FOLDER, NO_WRITING = 10, 11
_BAD = ("down", "drain", "fail", "error", "unknown", "no_respond", "not_responding")

_SCRIPT = """\
#!/bin/sh
{options}
[ "$(cat {folder}/token)" = {token} ] && cd {root} || exit {no_folder}
{{ date +%s; echo "$SLURMD_NODENAME"; }} > {folder}/answer.tmp || exit {no_writing}
exec >> {folder}/answer.tmp 2>&1
{exports}
{setup}
{python} -P -c 'import engine.evaluation.run, platform; print("python", platform.python_version())'
mv {folder}/answer.tmp {folder}/answer
"""


def examine_cluster(root: Path, *, submit: bool) -> list[DoctorItem]:
    """Nothing where there is neither a cluster nor a word of one. ``submit``: also look from a node."""
    try:
        settings = read_settings(root).slurm
    except SettingsError:
        return []  # it is told by whoever needs the whole file
    slurm = Slurm(settings.bin)
    wanted = submit or settings != SlurmSettings()
    missing = [name for name in COMMANDS if slurm.path_of(name) is None]
    if len(missing) == len(COMMANDS) and not wanted:
        return []
    if missing:
        return [
            DoctorItem(
                name="cluster",
                state="failure" if wanted else "warning",
                detail=f"not in {settings.bin or 'PATH'}: {', '.join(missing)}",
                remedy=f"install Slurm's client, or set [slurm] bin in {FILE}",
            )
        ]
    try:
        items = [
            _item("ok", f"{slurm.version()}, at {slurm.path_of('sbatch')}", name="cluster"),
            _partitions(slurm, settings),
            _nodes(slurm),
        ]
    except SlurmError as error:
        remedy = "is SLURM_CONF set, and its controller up? Only runs with --on slurm need it"
        return [_item("failure" if wanted else "warning", _last_of(error), remedy, name="cluster")]
    return [*items, _from_a_node(root, slurm, settings) if submit else _not_tried()]


def _last_of(error: SlurmError) -> str:
    """Where it says several things, the last one is what it comes to."""
    command, _, said = str(error).partition(": ")
    return f"{command}: {said.split('; ')[-1].removeprefix(f'{command}: ')}"


def _item(
    state: Literal["ok", "warning", "failure"], detail: str, remedy: str = "", name: str = "cluster's node"
) -> DoctorItem:
    return DoctorItem(name=name, state=state, detail=detail, remedy=remedy)


def _partitions(slurm: Slurm, settings: SlurmSettings) -> DoctorItem:
    name = "cluster's partitions"
    found = dict.fromkeys(slurm.partitions())
    states = {partition.removesuffix("*"): state for partition, state, _ in found}
    default = next((partition[:-1] for partition, _, _ in found if partition.endswith("*")), "")
    told = "; ".join(
        f"{partition.removesuffix('*')}{' (default)' if partition.endswith('*') else ''}: {state}"
        f"{'' if gres in ('', '(null)') else f', {gres}'}"
        for partition, state, gres in found
    )
    used = settings.partition.split(",") if settings.partition else [default] if default else []
    remedy = f"set [slurm] partition in {FILE}, or run with --on slurm:PARTITION"
    if absent := [partition for partition in used if partition not in states]:
        return _item("failure", f"there is no {', '.join(absent)}; there are {told}", remedy, name=name)
    if not used:
        return _item("warning", f"none is the default one; there are {told}", remedy, name=name)
    if closed := [partition for partition in used if states[partition] != "up"]:
        detail = f"{', '.join(closed)} is not up, so that jobs wait in it; there are {told}"
        return _item("warning", detail, remedy, name=name)
    return _item("ok", told, name=name)


def _nodes(slurm: Slurm) -> DoctorItem:
    nodes = slurm.nodes()
    counts = Counter(state for _, state in nodes)
    detail = ", ".join(f"{count} {state}" for state, count in counts.most_common()) or "none"
    bad = [name for name, state in nodes if state.startswith(_BAD) or state.endswith("*")]
    name = "cluster's nodes"
    if not bad and nodes:
        return _item("ok", detail, name=name)
    named = ", ".join(bad[:NODES_NAMED]) + (", …" if len(bad) > NODES_NAMED else "")
    remedy = "scontrol show node NAME tells why"
    if len(bad) == len(nodes):
        return _item("failure", f"none can be used: {detail}", remedy, name=name)
    return _item("warning", f"{detail}: not {named}", remedy, name=name)


def _not_tried() -> DoctorItem:
    return _item("ok", "not looked at: evaltower doctor --cluster submits a small job that looks")


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the job wrote. python: its last line, "python 3.11.2" where all went well."""

    clock: float
    node: str
    python: str


def _from_a_node(root: Path, slurm: Slurm, settings: SlurmSettings) -> DoctorItem:
    """What a small job says that runs like a run."""
    folder = root.absolute() / "outputs" / "system" / f"doctor-{uuid4().hex[:8]}"
    try:
        folder.mkdir(parents=True)
        token = uuid4().hex
        (folder / "token").write_text(token, encoding="utf-8")
        (folder / "job.sh").write_text(_script(root, folder, token, settings), encoding="utf-8")
    except OSError as error:
        return _item("failure", f"{folder} cannot be written: {error}", "choose another root with --root DIR")
    job_id, before = "", time.time()
    try:
        job_id = slurm.submit(folder / "job.sh")
        answer, job = _wait(folder, slurm, job_id)
        if answer is not None:
            return _told(root, answer, before, time.time(), settings)
        return _silent(folder, job, slurm.show(job_id), job_id)
    except SlurmRefusedError as error:
        return _item("failure", str(error), f"set [slurm] in {FILE} to what the cluster takes")
    except SlurmError as error:
        return _item("failure", str(error), "ask again once the cluster answers")
    finally:
        if job_id:
            _end(slurm, job_id)
        shutil.rmtree(folder, ignore_errors=True)


def _script(root: Path, folder: Path, token: str, settings: SlurmSettings) -> str:
    # What a run asks for, but for its size: a small job is let in sooner.
    settings = msgspec.structs.replace(settings, mem_mb=None)
    asked = {
        "job-name": "evaltower-doctor",
        "comment": "evaltower:doctor",
        "output": "/dev/null",
        "error": "/dev/null",
        "chdir": "/",
        **sizes(JobAsk(mem_mb=500), "", settings),
        "time": "1",
    }
    options = [f'--{name}="{value}"' for name, value in asked.items() if value]
    lines = [f"#SBATCH {option}" for option in ("--no-requeue", *options, *settings.extra)]
    path = importable(os.environ).get("PYTHONPATH")
    return _SCRIPT.format(
        options="\n".join(lines),
        root=shlex.quote(str(root.absolute())),
        folder=shlex.quote(str(folder)),
        token=token,
        no_folder=NO_FOLDER,
        no_writing=NO_WRITING,
        exports=f"export PYTHONPATH={shlex.quote(path)}" if path else "",
        setup=settings.setup,
        python=shlex.quote(settings.python or sys.executable),
    )


def _wait(folder: Path, slurm: Slurm, job_id: str) -> tuple[_Answer | None, Listed | None]:
    """The answer; else how the job stood at last. One that ended is given half of the time to be seen: a
    shared file system may show late what was written elsewhere."""
    deadline = time.monotonic() + ANSWER_WITHIN_SEC
    job, ended_at = None, math.inf
    while time.monotonic() < min(deadline, ended_at + ANSWER_WITHIN_SEC / 2):
        if "answer" in os.listdir(folder):
            return _read(folder / "answer"), None
        job = next((one for one in slurm.jobs() if one.job_id == job_id), job)
        if job is not None and job.state not in WAITS | RUNS:
            ended_at = min(ended_at, time.monotonic())
            if slurm.show(job_id).get("ExitCode", "0:0") != "0:0":
                break
        time.sleep(LOOK_AGAIN_SEC)
    return None, job


def _read(file: Path) -> _Answer:
    clock, node, *output = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return _Answer(clock=float(clock), node=node, python=output[-1] if output else "")


def _told(root: Path, answer: _Answer, before: float, after: float, settings: SlurmSettings) -> DoctorItem:
    """``before``, ``after``: between them, by our clock, the node wrote down its own."""
    python = settings.python or sys.executable
    if not answer.python.startswith("python "):
        remedy = f"have Evaltower there at the same path, or set [slurm] setup or python in {FILE}"
        return _item("failure", f"on {answer.node} {python} does not run us: {answer.python}", remedy)
    version = answer.python.split()[1]
    seen = f"{answer.node} sees the root {root.absolute()}, and {python} ({version}) runs us there"
    latest = answer.clock + 1  # it is told in whole seconds
    apart = answer.clock - after if answer.clock > after else min(0.0, latest - before)
    if abs(apart) > CLOCKS_APART_SEC:
        way = "ahead of" if apart > 0 else "behind"
        detail = f"{seen}; its clock is at least {abs(apart):.0f} s {way} ours"
        return _item("warning", detail, "set both by NTP: times of runs would contradict each other")
    return _item("ok", f"{seen}; its clock is ours")


def _silent(folder: Path, job: Listed | None, shown: dict[str, str], job_id: str) -> DoctorItem:
    """What it means that there is no answer."""
    waited = f"after {ANSWER_WITHIN_SEC:g} s"
    if job is None:
        return _item("warning", f"Slurm does not list job {job_id} {waited}", "ask again, or see squeue")
    if job.state in WAITS:
        detail = f"{reason_of(job).text}; it waited in the queue still {waited}, and was taken back"
        return _item("warning", detail, "ask again when the cluster has room, or set [slurm] partition")
    where = job.nodes or "its node"
    if job.state in RUNS:
        detail = f"on {where} job {job_id} had not answered {waited}, and was ended"
        return _item("warning", detail, f"ask again, or see whether [slurm] setup in {FILE} takes so long")
    code = shown.get("ExitCode", "").partition(":")[0]
    shared = "have the root on a file system that all nodes share, at one path"
    if code == str(NO_FOLDER):
        return _item("failure", f"{where} does not see {folder}", shared)
    if code == str(NO_WRITING):
        return _item("failure", f"{where} may not write in {folder}", "let it be mounted for writing there")
    if job.state == "COMPLETED":
        return _item("failure", f"what {where} wrote into {folder} is not seen here", shared)
    detail = f"on {where} job {job_id} ended as {job.state}, exit code {code}: {_last_line(folder)}"
    return _item(
        "failure", detail, f"does [slurm] setup in {FILE} fail? scontrol show job {job_id} tells more"
    )


def _last_line(folder: Path) -> str:
    try:
        lines = (folder / "answer.tmp").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return lines[-1] if len(lines) > 2 else "it wrote nothing"


def _end(slurm: Slurm, job_id: str) -> None:
    try:
        slurm.cancel([job_id])
    except SlurmError:
        pass  # it ends by itself within its minute
