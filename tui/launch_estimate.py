"""What the launch form says of the machine: whether such a run would start now, and what it needs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from engine.control.queue_reports import EstimateReport, GpuReport, ResourceEstimate
from tui.models import gigabytes

Tone = Literal["good", "warn", "bad", "dim"]
Told = tuple[str, Tone]

_NAMES = {"vram": "GPU memory", "ram": "main memory"}


def estimate_lines(report: EstimateReport, gpus: Sequence[GpuReport]) -> list[Told]:
    """The verdict first, then the figures."""
    return [_verdict(report, gpus), (_figures(report), "dim")]


def _verdict(report: EstimateReport, gpus: Sequence[GpuReport]) -> Told:
    if report.refused:
        return f"would never start: {report.refused}", "bad"
    more = f"; at most {report.max_workers} workers would start now" if report.max_workers else ""
    if not report.fits:
        return f"would wait: {report.waits or 'for its turn'}{more}", "warn"
    labels = {gpu.uuid: gpu.label for gpu in gpus}
    cards = ", ".join(labels.get(card, card) for card in report.gpus)
    return f"fits now{f' on GPU {cards}' if cards else ', without a GPU'}{more}", "good"


def _figures(report: EstimateReport) -> str:
    parts = [_figure(_NAMES.get(name, name), found) for name, found in report.resources.items()]
    return "needs " + ", ".join(parts) if parts else ""


def _figure(name: str, found: ResourceEstimate) -> str:
    if found.estimate_mb is None:
        return f"unknown {name} ({', '.join(found.uncalibrated)} not yet measured)"
    if not found.estimate_mb:
        return f"no {name}"
    how = ", not all measured" if found.uncalibrated else ""
    free = f" of {gigabytes(found.measured_free_mb)} free" if found.measured_free_mb is not None else ""
    return f"{gigabytes(found.estimate_mb)} {name}{free}{how}"
