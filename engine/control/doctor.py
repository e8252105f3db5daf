"""What this machine offers, and what would stop a run."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import signal
import sys
from pathlib import Path

import psutil

from engine.components.catalog import Catalog, NodesetManifest
from engine.components.requirements import Requirement
from engine.control.doctor_cluster import examine_cluster
from engine.control.doctor_extras import extras, installed, packages_of
from engine.control.experiments import experiment_problems
from engine.control.reports import DoctorItem
from engine.hosting.asking import ask_requirements
from engine.scheduling.ledger import own_backends
from engine.store.backend_lock import live_backend
from engine.store.runs import list_runs
from engine.store.settings import FILE, SettingsError, read_settings

MB = 1 << 20
LOW_DISK_MB = 1024
LOW_RAM_MB = 1024
PACKAGES = ("evaltower", "aiohttp", "click", "httpx", "msgspec", "numpy", "pillow", "psutil", "rich", "scipy")


def examine(root: Path, catalog: Catalog, *, cluster: bool = False) -> list[DoctorItem]:
    """Everything, each for itself: one that fails does not hide the next. ``cluster``: see
    :func:`engine.control.doctor_cluster.examine_cluster`."""
    return [
        _python(),
        _packages(),
        *extras(),
        _processes(),
        _machine(),
        _gpus(),
        _root(root),
        _disk(root),
        _backends(root),
        _terminal(),
        *_nodesets(catalog),
        *packages_of(catalog),
        *_settings(root),
        *_profiles(root),
        *examine_cluster(root, submit=cluster),
        _runs(root),
    ]


def _python() -> DoctorItem:
    return DoctorItem(name="python", state="ok", detail=f"{platform.python_version()} at {sys.executable}")


def _packages() -> DoctorItem:
    found = {package: installed(package) for package in PACKAGES}
    missing = [package for package, number in found.items() if number is None]
    detail = ", ".join(f"{package} {number}" for package, number in found.items() if number)
    if missing:
        return DoctorItem(
            name="packages",
            state="warning",
            detail=f"{detail}; not installed: {', '.join(missing)}",
            remedy="pip install .",
        )
    return DoctorItem(name="packages", state="ok", detail=detail)


def _processes() -> DoctorItem:
    missing = [
        name
        for name, there in (
            ("/proc", Path("/proc/self/stat").exists()),
            ("pidfd", hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal")),
        )
        if not there
    ]
    if missing:
        return DoctorItem(
            name="processes",
            state="failure",
            detail=f"not here: {', '.join(missing)}",
            remedy="runs need Linux 5.3 or newer with /proc mounted",
        )
    return DoctorItem(name="processes", state="ok", detail=f"{platform.system()} {platform.release()}")


def _machine() -> DoctorItem:
    memory = psutil.virtual_memory()
    free, total = memory.available // MB, memory.total // MB
    detail = f"{len(os.sched_getaffinity(0))} CPU cores, {free} MB of {total} MB memory free"
    if free < LOW_RAM_MB:
        return DoctorItem(name="machine", state="warning", detail=detail, remedy="free some memory first")
    return DoctorItem(name="machine", state="ok", detail=detail)


def _gpus() -> DoctorItem:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return DoctorItem(name="GPUs", state="ok", detail=f"none seen ({error})")
    try:
        names = []
        for index in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            names.append(f"{index}: {pynvml.nvmlDeviceGetName(handle)}")
        driver = pynvml.nvmlSystemGetDriverVersion()
        return DoctorItem(name="GPUs", state="ok", detail=f"{', '.join(names) or 'none'}; driver {driver}")
    finally:
        pynvml.nvmlShutdown()


def _root(root: Path) -> DoctorItem:
    if not os.access(_existing(root / "outputs"), os.W_OK):
        return DoctorItem(
            name="root",
            state="failure",
            detail=f"{root} may not be written",
            remedy="choose another with --root DIR or EVALTOWER_ROOT",
        )
    return DoctorItem(name="root", state="ok", detail=str(root))


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _disk(root: Path) -> DoctorItem:
    usage = shutil.disk_usage(_existing(root))
    detail = f"{usage.free // MB} MB of {usage.total // MB} MB free"
    if usage.free < LOW_DISK_MB * MB:
        return DoctorItem(
            name="disk", state="warning", detail=detail, remedy="delete old runs or move the root"
        )
    return DoctorItem(name="disk", state="ok", detail=detail)


def _backends(root: Path) -> DoctorItem:
    own = live_backend(root)
    told = [f"process {own.process.pid} {own.url or own.socket}".strip() if own else "none of this root"]
    told += [
        f"process {entry.process.pid} of {entry.root}"
        for entry in own_backends()
        if Path(entry.root) != root.resolve()
    ]
    return DoctorItem(name="backends", state="ok", detail="; ".join(told))


def _terminal() -> DoctorItem:
    size = shutil.get_terminal_size()
    kind = os.environ.get("TERM", "none")
    encoding = sys.stdout.encoding or "none"
    return DoctorItem(
        name="terminal", state="ok", detail=f"TERM {kind}, {size.columns}×{size.lines}, {encoding}"
    )


def _nodesets(catalog: Catalog) -> list[DoctorItem]:
    items = [DoctorItem(name="nodesets", state="ok", detail=", ".join(sorted(catalog.nodesets)) or "none")]
    items += [
        DoctorItem(name="nodeset failed to load", state="warning", detail=f"{failure.path}: {failure.error}")
        for failure in catalog.failures
    ]
    asked: list[NodesetManifest] = []
    for name, manifest in sorted(catalog.nodesets.items()):
        if not manifest.server_python or os.access(manifest.server_python, os.X_OK):
            asked += [manifest] if manifest.has_requirements or manifest.server_python else []
        else:
            items.append(
                DoctorItem(
                    name=f"interpreter of {name}",
                    state="warning",
                    detail=f"{manifest.server_python} cannot be run",
                    remedy="install it, or point the nodeset's _PYTHON variable at another",
                )
            )
    for manifest, needs in zip(asked, ask_requirements(asked), strict=True):
        items += _needs(manifest, needs)
    return items


def _needs(manifest: NodesetManifest, needs: list[Requirement]) -> list[DoctorItem]:
    """One line where all is there; else one for each thing that is not."""
    name, python = f"needs of {manifest.name}", manifest.server_python or sys.executable
    missing = [
        DoctorItem(name=name, state="warning", detail=f"{need.what}: {need.found}", remedy=need.remedy)
        for need in needs
        if not need.met
    ]
    found = "; ".join(f"{need.what}: {need.found}" for need in needs)
    return missing or [DoctorItem(name=name, state="ok", detail=f"{python}: {found}")]


def _settings(root: Path) -> list[DoctorItem]:
    """What is wrong with evaltower.toml; the actions of ``[keys]`` the screen knows."""
    try:
        problems = experiment_problems(read_settings(root).experiments)
    except SettingsError as error:
        problems = error.problems
    return [DoctorItem(name=FILE, state="failure", detail=problem) for problem in problems]


def _profiles(root: Path) -> list[DoctorItem]:
    try:
        profiles = read_settings(root).profiles
    except SettingsError:  # told by _settings
        return []
    if not profiles:
        return []
    from engine.models.probe import probe

    return [
        DoctorItem(
            name=f"profile {found.profile}",
            state="ok" if found.ok else "warning",
            detail=found.detail,
            remedy=found.remedy,
        )
        for found in asyncio.run(probe(profiles))
    ]


def _runs(root: Path) -> DoctorItem:
    runs = list_runs(root)
    alive = sum(run.status in ("pending", "running") for run in runs)
    aborted = sum(run.status == "aborted" for run in runs)
    return DoctorItem(name="runs", state="ok", detail=f"{len(runs)} in all, {alive} alive, {aborted} aborted")
