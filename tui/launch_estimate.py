"""What the launch form says of the machine: whether such a run would start now, and what it needs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from engine.control.queue_reports import EstimateReport, GpuReport, ResourceEstimate
from engine.figures import count
from tui.episode.inks import InkedLine, inked
from tui.models import gigabytes

_NAMES = {"vram": "GPU memory", "ram": "main memory"}


def estimate_lines(
    report: EstimateReport, gpus: Sequence[GpuReport], cores: int | None = None
) -> list[InkedLine]:
    """The verdict first, then the figures, and last what admission does not ask: whether there are cores."""
    lines = [_verdict(report, gpus)]
    if report.resources:
        lines.append(inked(_figures(report), "dim"))
    if cores is not None:
        few = report.worker_count > cores
        told = f"{count(report.worker_count, 'worker')} on {count(cores, 'CPU core')}"
        lines.append(inked(told + ": they take turns" * few, "warn" if few else "dim"))
    return lines


def elsewhere_lines(report: EstimateReport, on: str) -> list[InkedLine]:
    """Of a run for a cluster, whose queue decides."""
    needs = [inked(f"{_needs(report)} on each node", "dim")] if report.resources else []
    return [inked(f"starts when the queue of {on} lets it", "dim"), *needs]


def _needs(report: EstimateReport) -> str:
    vram, ram = report.resources.get("vram"), report.resources.get("ram")
    card = ["a GPU"] if vram is not None and vram.estimate_mb != 0 else []
    memory = [f"{gigabytes(ram.estimate_mb)} {_NAMES['ram']}"] if ram is not None else []
    return "asks for " + " and ".join([*memory, *card])


def _verdict(report: EstimateReport, gpus: Sequence[GpuReport]) -> InkedLine:
    if report.refused:
        return inked(f"would never start: {report.refused}", "bad")
    # Below what fits, it is only as far as anything is known.
    least = report.worker_count if report.fits else 1
    most = count(report.max_workers, "worker")
    more = f"; at most {most} would start now" if report.max_workers >= least else ""
    if not report.fits:
        return inked(f"would wait: {report.waits or 'for its turn'}{more}", "warn")
    labels = {gpu.uuid: gpu.label for gpu in gpus}
    cards = ", ".join(labels.get(card, card) for card in report.gpus)
    return inked(f"fits now{f' on GPU {cards}' if cards else ', without a GPU'}{more}", "good")


def _figures(report: EstimateReport) -> str:
    parts = [_figure(_NAMES.get(name, name), found) for name, found in report.resources.items()]
    return "needs " + ", ".join(parts)


def _figure(name: str, found: ResourceEstimate) -> str:
    if found.estimate_mb is None:
        return f"unknown {name} ({', '.join(found.uncalibrated)} not yet measured)"
    if not found.estimate_mb:
        return f"no {name}"
    how = ", not all measured" if found.uncalibrated else ""
    free = f" of {gigabytes(found.measured_free_mb)} free" if found.measured_free_mb is not None else ""
    return f"{gigabytes(found.estimate_mb)} {name}{free}{how}"
