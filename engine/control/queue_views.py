"""The queue as it is told: who waits and why, what runs, and whose memory it is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from engine.control.backend import Backend
from engine.control.queue_reports import BackendReport, QueuedRun, QueueReport, RunningRun
from engine.scheduling.accounts import Accounts, Pool
from engine.scheduling.estimates import Estimate
from engine.scheduling.jobs import QueuedJob
from engine.scheduling.machine import RAM
from engine.scheduling.reasons import NOT_LOOKED_AT, OTHERS
from engine.scheduling.tenancy import Run, Tenants
from engine.store.records import Job
from engine.store.rundir import RunDir, RunDirError, read_json, runs_folder


class _Asked(msgspec.Struct):
    label: str = ""


class _SpecHead(msgspec.Struct):
    """spec.json without its graph."""

    eval: _Asked


def queue_report(backend: Backend) -> QueueReport:
    """The whole of it, as of the last tick."""
    with backend.reading() as scheduler:
        queue, accounts = scheduler.queue, scheduler.decisions.accounts
        waiting, estimates = backend.waiting(), scheduler.estimates()
        report = QueueReport(
            queued=[
                _queued(backend, job, position, mb_of(estimates[job.run_id]))
                for position, job in enumerate(queue.jobs, start=1)
            ],
            running=[_running(backend, run) for run in scheduler.tenants.runs.values() if not run.waits],
            paused=queue.paused,
            playing=scheduler.playing,
        )
        for run in report.queued:
            if reason := waiting.get(run.run_id):
                run.code, run.reason = reason.code, reason.text
            elif queue.paused:
                run.code, run.reason = "queue_paused", "the queue is paused"
            else:
                run.reason = NOT_LOOKED_AT
        away = [run for run in scheduler.tenants.runs.values() if run.waits]
        report.queued += [
            _waiting_elsewhere(backend, run, position)
            for position, run in enumerate(away, start=len(report.queued) + 1)
        ]
        if accounts is not None:
            _tell_memory(report, accounts, scheduler.tenants)
    return report


def backend_report(backend: Backend) -> BackendReport:
    record = backend.record
    return BackendReport(
        pid=record.process.pid,
        version=record.version,
        root=record.root,
        started_at=record.started_at,
        url=record.url,
        socket=record.socket,
        state="ending" if backend.ending.is_set() else "live",
        notices=backend.notices.texts,
    )


def mb_of(estimate: Estimate) -> dict[str, float | None]:
    """``vram`` and ``ram`` → MB of all its parts, margins included; None where one is unknown."""
    vram = [part.vram for part in estimate.parts]
    known = [figure for figure in vram if figure is not None]
    return {
        "vram": sum(f.mb + f.margin_mb for f in known) if len(known) == len(vram) else None,
        "ram": sum(part.ram.mb + part.ram.margin_mb for part in estimate.parts),
    }


def pools_of(accounts: Accounts) -> Iterable[Pool]:
    """Every account once."""
    found = {card.pool.key: card.pool for card in accounts.cards.values()}
    if accounts.ram is not None:
        found[RAM] = accounts.ram
    return found.values()


def _queued(
    backend: Backend, job: QueuedJob, position: int, estimate_mb: dict[str, float | None]
) -> QueuedRun:
    run = RunDir(runs_folder(backend.root) / job.run_id)
    return QueuedRun(
        run_id=job.run_id,
        graph_name=job.need.graph_name,
        position=position,
        priority=job.priority,
        submitted_at=job.submitted_at,
        label=_label(run),
        held=job.held,
        worker_count=job.need.worker_count,
        marginal_vram_mb=job.need.marginal_vram_mb,
        exclusive_gpu=job.need.exclusive_gpu,
        depends_on=list(job.depends_on),
        kind=job.kind,
        estimate_mb=estimate_mb,
        on=job.on,
    )


def _waiting_elsewhere(backend: Backend, run: Run, position: int) -> QueuedRun:
    entry, cluster = run.entry, _job(RunDir(runs_folder(backend.root) / run.run_id)).cluster
    ask = entry.start.ask
    queued = _queued(backend, entry.job, position, {"ram": ask.run.mem_mb} if ask else {})
    queued.cluster = cluster
    if run.waits is not None:
        queued.code, queued.reason = run.waits.code, run.waits.text
    return queued


def _running(backend: Backend, run: Run) -> RunningRun:
    folder = RunDir(runs_folder(backend.root) / run.run_id)
    job, entry = _job(folder), run.entry
    return RunningRun(
        run_id=run.run_id,
        graph_name=entry.job.need.graph_name,
        pid=run.pid if job.process is None or job.state != "started" else job.process.pid,
        label=_label(folder),
        kind=job.kind,
        priority=entry.job.priority,
        admit_charges=_charges(run),
        admit_basis={name: basis for name, basis in entry.start.basis.items() if basis is not None},
        started_at=job.started_at,
        cancel_requested=job.cancel_requested_at is not None,
        gpus=list(entry.start.run.cards),
        servers=[seated.server.name for seated in entry.start.servers if seated.server],
        worker_count=entry.start.workers,
        marginal_vram_mb=entry.job.need.marginal_vram_mb,
        exclusive_gpu=entry.job.need.exclusive_gpu,
        cluster=job.cluster,
    )


def _charges(run: Run) -> dict[str, float]:
    claims = run.entry.start.run.claims
    cards = [claim.mb + claim.margin_mb for pool, claim in claims.items() if pool != RAM]
    ram = claims.get(RAM)
    charges = {"vram": sum(cards)} if cards else {}
    return charges | ({"ram": ram.mb + ram.margin_mb} if ram else {})


def _tell_memory(report: QueueReport, accounts: Accounts, tenants: Tenants) -> None:
    cards = [pool for pool in pools_of(accounts) if pool.key != RAM]
    if cards:
        report.usable_vram_mb = sum(pool.ceiling_mb for pool in cards)
        report.reserved_vram_mb = sum(pool.standing_mb for pool in cards)
    for pool in pools_of(accounts):
        report.measured_free_mb[pool.key] = pool.free_mb
        report.pending_reservation_mb[pool.key] = pool.reserved_mb
        report.attribution[pool.key] = _attribution(pool, tenants)
        report.reservations_mb[pool.key] = _reservations(pool, tenants)


def _reservations(pool: Pool, tenants: Tenants) -> dict[str, float]:
    found = {owner: pool.reserved_of(owner) for owner in pool.standing} | {OTHERS: pool.neighbours_mb}
    named = {
        (tenants.servers[owner].name if owner in tenants.servers else owner): mb
        for owner, mb in found.items()
    }
    return {who: mb for who, mb in named.items() if mb > 0}


def _attribution(pool: Pool, tenants: Tenants) -> dict[str, Any]:
    shown = {owner: mb for owner, mb in pool.shown.items() if mb > 0}
    return {
        "used_total_mb": pool.total_mb - pool.free_mb,
        "external_mb": pool.foreign_mb,
        "jobs_mb": {owner: mb for owner, mb in shown.items() if owner not in tenants.servers},
        "shared_mb": {tenants.servers[key].name: mb for key, mb in shown.items() if key in tenants.servers},
    }


@lru_cache(maxsize=10_000)  # spec.json never changes
def _label(run: RunDir) -> str:
    try:
        return read_json(run.spec, _SpecHead).eval.label
    except (RunDirError, OSError):
        return ""


def _job(run: RunDir) -> Job:
    try:
        return run.read_job()
    except (RunDirError, OSError):
        return Job(run_id=run.run_id, state="started")
