"""An estimate as it is told: what a run would need, of which resource what is unknown, whether it fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.control import checking
from engine.control.backend import Backend
from engine.control.queue_reports import EstimateReport, ResourceEstimate
from engine.control.queue_views import mb_of
from engine.graph.read import dump_graph
from engine.scheduling.accounts import Accounts
from engine.scheduling.estimates import Estimate, Figure
from engine.scheduling.need import Need, selection_of
from engine.scheduling.requests import on_this_machine
from engine.scheduling.shortage import title


def estimate_report(
    backend: Backend, prepared: checking.Prepared, worker_count: int, selectors: Mapping[str, Any]
) -> EstimateReport:
    """As of the last tick. ``prepared``: a graph that could be read."""
    assert prepared.graph is not None
    needs = checking.needs_of(dump_graph(prepared.graph), prepared.nodesets)
    need = Need(
        graph_name=prepared.name,
        graph_hash=needs.graph_hash,
        selection=selection_of(selectors),
        worker_count=worker_count,
        nodesets=tuple(needs.nodesets),
    )
    with backend.reading() as scheduler:
        forecast, accounts = scheduler.forecast(need), scheduler.decisions.accounts
        free = _free(accounts)
    found = forecast.estimate.parts
    estimate = Estimate(tuple(on_this_machine(part, accounts) if accounts else part for part in found))
    total = mb_of(estimate)
    figures: dict[str, dict[str, Figure | None]] = {
        "vram": {title(part.owner): part.vram for part in estimate.parts},
        "ram": {title(part.owner): part.ram for part in estimate.parts},
    }
    return EstimateReport(
        graph_name=prepared.name,
        worker_count=worker_count,
        resources={
            name: ResourceEstimate(
                estimate_mb=total[name],
                uncalibrated=[part for part, figure in parts.items() if not _is_measured(figure)],
                measured_free_mb=free[name],
                basis={part: figure.basis if figure else "unknown" for part, figure in parts.items()},
            )
            for name, parts in figures.items()
        },
        max_workers=forecast.max_workers,
        fits=forecast.start is not None,
        gpus=list(forecast.start.run.cards) if forecast.start else [],
        waits=str(forecast.waits) if forecast.waits and not forecast.refused else "",
        refused=str(forecast.refused) if forecast.refused else "",
    )


def _is_measured(figure: Figure | None) -> bool:
    return figure is not None and figure.basis == "measured"


def _free(accounts: Accounts | None) -> dict[str, float | None]:
    if accounts is None:
        return {"vram": None, "ram": None}
    cards = [card.pool.available_mb for card in accounts.cards.values()]
    ram = accounts.ram.available_mb if accounts.ram else None
    return {"vram": max(cards, default=None), "ram": ram}
