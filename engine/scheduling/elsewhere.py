"""A run that goes to a cluster: what is asked there, from the same estimate as here. Pure."""

from __future__ import annotations

from engine.scheduling.estimates import RUN, Estimate, Part
from engine.scheduling.jobs import QueuedJob
from engine.scheduling.starts import ClusterAsk, JobAsk, Seated, Start


def start_elsewhere(job: QueuedJob, estimate: Estimate) -> Start:
    """An admission that takes nothing of this machine: the cluster has a queue of its own."""
    workers = job.need.worker_count
    nothing_here = Seated(
        owner=job.run_id, server=None, load=True, cards=(), visible=None, claims={}, after_sec=0.0
    )
    return Start(
        run_id=job.run_id,
        run=nothing_here,
        servers=(),
        basis={"vram": estimate.run.vram.basis if estimate.run.vram else None, "ram": estimate.run.ram.basis},
        cold=False,
        exclusive=False,
        workers=workers,
        ask=ask_of(job.on, job.nodes, workers, estimate),
    )


def ask_of(on: str, nodes: int, workers: int, estimate: Estimate) -> ClusterAsk:
    """Each node gets what the whole run would take here: ``workers`` count per node.

    Video memory of which nobody knows anything is a card: one that is not needed is waste, one that is
    missing is a failed run.
    """
    return ClusterAsk(
        on=on,
        nodes=nodes,
        run=_of_part(estimate.run, workers),
        servers={
            part.server.name: _of_part(part, 0)
            for part in estimate.parts
            if part.owner != RUN and part.server is not None
        },
    )


def _of_part(part: Part, workers: int) -> JobAsk:
    needs_card = part.vram is None or part.vram.mb > 0
    return JobAsk(mem_mb=part.ram.mb + part.ram.margin_mb, gpus=int(needs_card), workers=workers)
