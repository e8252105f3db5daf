"""The machine as it is told: every card and the host, and who holds what of them."""

from __future__ import annotations

import os
import socket

from engine.control.backend import Backend
from engine.control.queue_reports import ForeignProcess, GpuReport, HostReport, ResourcesReport
from engine.scheduling.accounts import Accounts
from engine.scheduling.attribution import Usage
from engine.scheduling.machine import RAM, Gpu, Sample, boottime
from engine.scheduling.tenancy import Tenants


def resources_report(backend: Backend) -> ResourcesReport:
    """As of the last tick; before the first sample it says so."""
    with backend.reading() as scheduler:
        sample, usage, tenants = scheduler.sample, scheduler.usage, scheduler.tenants
        accounts = scheduler.decisions.accounts
        if sample is None:
            host = HostReport(name=socket.gethostname(), cpu_count=_cpus())
            return ResourcesReport(
                driver="failing",
                gpus=[],
                host=host,
                problems=["the machine has not been sampled yet"],
                simulated=backend.simulated,
            )
        return ResourcesReport(
            driver=sample.driver,
            gpus=[_gpu(gpu, usage, tenants, accounts) for gpu in sample.gpus],
            host=_host(sample, usage, tenants, accounts),
            problems=list(sample.problems),
            simulated=backend.simulated,
        )


def _gpu(gpu: Gpu, usage: Usage, tenants: Tenants, accounts: Accounts | None) -> GpuReport:
    runs, servers = held(RAM if gpu.unified else gpu.uuid, usage, tenants)
    foreign = usage.foreign.get(gpu.uuid, ())
    return GpuReport(
        uuid=gpu.uuid,
        label=gpu.label,
        name=gpu.name,
        total_mb=gpu.total_mb,
        used_mb=gpu.used_mb,
        age_sec=max(0.0, boottime() - gpu.sampled_at),
        utilization=gpu.utilization,
        power_w=gpu.power_w,
        temperature_c=gpu.temperature_c,
        runs_mb=runs,
        servers_mb=servers,
        foreign=[ForeignProcess(pid=found.pid, name=found.name, mb=found.mb) for found in foreign],
        foreign_mb=sum(found.mb or 0.0 for found in foreign),
        reserved_mb=_reserved(gpu.uuid, accounts),
    )


def _host(sample: Sample, usage: Usage, tenants: Tenants, accounts: Accounts | None) -> HostReport:
    runs, servers = held(RAM, usage, tenants)
    memory = sample.memory
    return HostReport(
        name=socket.gethostname(),
        cpu_count=_cpus(),
        cpu_percent=sample.cpu_percent,
        ram_total_mb=memory.total_mb if memory else None,
        ram_available_mb=memory.available_mb if memory else None,
        ram_age_sec=max(0.0, boottime() - memory.sampled_at) if memory else None,
        disk_free_mb=sample.disk_free_mb,
        runs_mb=runs,
        servers_mb=servers,
        reserved_mb=_reserved(RAM, accounts),
    )


def held(pool: str, usage: Usage, tenants: Tenants) -> tuple[dict[str, float], dict[str, float]]:
    """What is held of a pool: (run id → MB, nodeset of a shared server → MB)."""
    runs: dict[str, float] = {}
    servers: dict[str, float] = {}
    for owner, shown in usage.shown.items():
        if (mb := shown.get(pool, 0.0)) > 0:
            server = tenants.servers.get(owner)
            (servers if server else runs)[server.name if server else owner] = mb
    return runs, servers


def _reserved(pool: str, accounts: Accounts | None) -> dict[str, float]:
    found = accounts.pool(pool) if accounts else None
    if found is None:
        return {}
    return {owner: mb for owner in found.standing if (mb := found.reserved_of(owner)) > 0}


def _cpus() -> int:
    return len(os.sched_getaffinity(0))
