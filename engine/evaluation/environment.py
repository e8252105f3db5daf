"""environment.json: what produced the numbers."""

from __future__ import annotations

import os
import platform
import shlex
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from engine.evaluation.slots import HostSlot
from engine.store.environment_record import BatchedRecord, EnvironmentRecord, ModelRecord, NodesetRecord
from engine.store.records import Determinism, Spec
from engine.store.rundir import RunDir
from engine.store.strict_json import encode

PACKAGES = ("evaltower", "numpy", "msgspec", "aiohttp", "httpx", "scipy")
MB = 1 << 20
WEAKER: dict[Determinism, int] = {"exact": 0, "seeded": 1, "none": 2}


def describe(
    run: RunDir,
    spec: Spec,
    nodesets: Sequence[NodesetRecord],
    batched: Sequence[BatchedRecord],
    models: Sequence[ModelRecord],
) -> EnvironmentRecord:
    """The record of this run on this host. A batched tool without a passed check weakens it to ``seeded``."""
    labels: list[Determinism] = [n.determinism for n in nodesets] + [m.determinism for m in models]
    if any(b.regime == "unchecked" for b in batched):
        labels.append("seeded")
    return EnvironmentRecord(
        run_id=run.run_id,
        versions=_versions(),
        git_commit=_git_commit(run.root),
        host=_host(),
        gpus=_gpus(),
        seed=spec.eval.seed,
        command=command_line(spec, run),
        determinism=max(labels, key=WEAKER.__getitem__, default="exact"),
        nodesets=list(nodesets),
        batched=list(batched),
        models=list(models),
    )


def command_line(spec: Spec, run: RunDir) -> str:
    """A shell line, for the root, that runs the same again from the frozen graph."""
    request = spec.eval
    frozen = run.whole.graph
    graph = frozen.relative_to(run.root) if frozen.is_relative_to(run.root) else frozen
    words = ["evaltower", "run", str(graph), "-w", str(request.worker_count), "--seed", str(request.seed)]
    if request.episode_indices is not None:
        words += ["--episodes", ",".join(map(str, request.episode_indices))]
    else:
        words += ["--all"] if request.episode_count == -1 else ["-n", str(request.episode_count)]
        words += ["--start", str(request.start_episode_index)] if request.start_episode_index else []
    words += ["--repeats", str(request.repeats)] if request.repeats > 1 else []
    if request.until_width is not None:
        words += ["--until-width", str(request.until_width), "--until-metric", request.until_metric]
    optional = {
        "--split": request.split or None,
        "--dataset": request.dataset or None,
        "--step-budget": request.step_budget,
        "--step-timeout": request.per_step_budget_sec,
        "--timeout": request.timeout_sec,
        "--retries": request.retries or None,
        "--overlay": spec.active_workspace_dir,
    }
    for option, value in optional.items():
        words += [option, str(value)] if value is not None else []
    for name, value in request.selectors.items():
        words += ["--select", f"{name}={encode(value).decode()}"]
    for folder in spec.workspaces:
        words += ["--workspace", folder]
    loaded = {need.name for need in spec.needs.nodesets}  # the others are lent by whoever asked for the run
    for name, url in run.read_shared_urls().items():
        words += ["--server", f"{name}={url}"] if name not in loaded else []
    return shlex.join(words)


def nodeset_record(slot: HostSlot) -> NodesetRecord:
    """A nodeset as it runs in ``slot``, which has been started."""
    return NodesetRecord(
        name=slot.manifest.name,
        source_hash=slot.manifest.source_hash,
        url=slot.borrowed_from,
        parallelism=slot.manifest.parallelism,
        determinism=slot.manifest.determinism,
        python=str(slot.manifest_there.get("executable", "")),
        versions=slot.manifest_there.get("versions", {}),
    )


def batched_records(slot: HostSlot) -> list[BatchedRecord]:
    """How its batched tools run."""
    return [
        BatchedRecord(
            nodeset=slot.manifest.name,
            tool=label,
            regime=str(record.get("regime", "")),
            shape=record.get("shape"),
            threads=record.get("threads"),
            cpu=str(record.get("cpu", "")),
            versions=record.get("versions", {}),
            digest=str(record.get("digest", "")),
            rows=record.get("rows", 0),
        )
        for label, record in slot.manifest_there.get("batching", {}).items()
    ]


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _git_commit(root: Path) -> str | None:
    with suppress(OSError, subprocess.SubprocessError):
        asked = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
        return asked.stdout.strip()
    return None


def _host() -> dict[str, Any]:
    return {
        "name": socket.gethostname(),
        "os": platform.platform(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "ram_mb": round(psutil.virtual_memory().total / MB),
        "executable": sys.executable,
    }


def _cpu_model() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


def _gpus() -> list[dict[str, Any]]:
    """Name, UUID and memory of each GPU; empty where the NVIDIA driver is not there."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        driver = pynvml.nvmlSystemGetDriverVersion()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        return [
            {
                "name": pynvml.nvmlDeviceGetName(handle),
                "uuid": pynvml.nvmlDeviceGetUUID(handle),
                "memory_mb": _gpu_memory_mb(handle),
                "driver": driver,
            }
            for handle in handles
        ]
    finally:
        pynvml.nvmlShutdown()


def _gpu_memory_mb(handle: Any) -> int | None:
    import pynvml

    with suppress(pynvml.NVMLError):  # unified memory reports none
        return round(int(pynvml.nvmlDeviceGetMemoryInfo(handle).total) / MB)
    return None
