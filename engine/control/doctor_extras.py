"""What of Evaltower's extras is installed, and of the packages that nodesets need under our interpreter."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from engine.components.catalog import Catalog
from engine.components.packages import absent_packages
from engine.control.reports import DoctorItem

EXTRAS = {
    "gym": ("Gymnasium, MiniGrid and BabyAI", ("gymnasium", "minigrid")),
    "simulators": (
        "MuJoCo, Box2D, Atari, MiniWorld, Meta-World and text games",
        (
            *("ale-py", "alfworld", "gymnasium", "metaworld", "miniworld"),
            *("mujoco", "packaging", "scienceworld", "textworld"),
        ),
    ),
    "torch": ("policies and models of torch", ("torch",)),
    "models": (
        "policies of transformers and stable-baselines3, ONNX models",
        ("onnxruntime", "safetensors", "silero-vad", "stable-baselines3", "transformers"),
    ),
    "video": ("mp4 of an episode", ("av",)),
    "otel": ("traces to OpenTelemetry", ("opentelemetry-exporter-otlp-proto-http", "opentelemetry-sdk")),
}
"""What each brings, and the packages that it asks for; but for those of other extras in it."""


def extras() -> list[DoctorItem]:
    """One line each. None has to be there, so none is a warning."""
    return [_extra(name, brings, packages) for name, (brings, packages) in EXTRAS.items()]


def _extra(name: str, brings: str, packages: tuple[str, ...]) -> DoctorItem:
    found = {package: installed(package) for package in packages}
    told = [", ".join(f"{package} {number}" for package, number in found.items() if number)]
    missing = [package for package, number in found.items() if number is None]
    told += [f"not installed: {', '.join(missing)}"] if missing else []
    return DoctorItem(
        name=f"extra {name}",
        state="ok",
        detail=f"{brings}: {'; '.join(filter(None, told))}",
        remedy=f"pip install 'evaltower[{name}]'" if missing else "",
    )


def installed(package: str) -> str | None:
    """Its version; None where it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def packages_of(catalog: Catalog) -> Iterator[DoctorItem]:
    """Of the nodesets that run under our own interpreter and need nothing but packages and conditions: looked
    for, and not imported, as that takes long."""
    plain = [
        found
        for _, found in sorted(catalog.nodesets.items())
        if (found.packages or found.conditions) and not found.has_requirements and not found.server_python
    ]
    absent = absent_packages((found, found.packages) for found in plain)
    for nodeset in plain:
        name = f"needs of {nodeset.name}"
        environment = {**os.environ, **nodeset.env}
        conditions = [one for one in nodeset.conditions if one.wanted_in(environment)]
        lacking = [package for found, package in absent if found is nodeset]
        missing = [(f"{package.told}: not installed", package.remedy) for package in lacking]
        missing += [
            (f"{one.told}: {wrong}", one.remedy) for one in conditions if (wrong := one.wrong(environment))
        ]
        for detail, remedy in missing:
            yield DoctorItem(name=name, state="warning", detail=detail, remedy=remedy)
        if not missing:
            told = [*(one.told for one in nodeset.packages), *(one.told for one in conditions)]
            there = ", ".join(told)
            yield DoctorItem(name=name, state="ok", detail=f"{sys.executable}: {there}")
