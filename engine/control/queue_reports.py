"""What the verbs of the queue, the machine and the backend answer. Field names are rest-api.md's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from engine.scheduling.machine import RAM
from engine.scheduling.need import Priority
from engine.store.cluster_note import ClusterNote
from engine.store.records import JobKind, RunStatus


class QueuedRun(msgspec.Struct, kw_only=True):
    """A run that waits. position: from 1. code and reason: why, as a word of the scheduler and in words with
    numbers. marginal_vram_mb: as declared. estimate_mb: resource → MB. Both are None where unknown. on: where
    it is to run; cluster: where it waits there already, behind all that wait here.
    """

    run_id: str
    graph_name: str
    position: int
    priority: Priority
    submitted_at: str
    code: str = ""
    reason: str = ""
    label: str = ""
    held: bool = False
    worker_count: int = 1
    marginal_vram_mb: float | None = None
    exclusive_gpu: bool = False
    depends_on: list[str] = []
    kind: JobKind = "run"
    estimate_mb: dict[str, float | None] = {}
    on: str = ""
    cluster: ClusterNote | None = None


class RunningRun(msgspec.Struct, kw_only=True):
    """A run that was let in. pid: of its shim; None while it waits for a server. admit_charges, admit_basis:
    resource → MB, and where that figure comes from. gpus: UUIDs. marginal_vram_mb: as declared, None where it
    was not. cluster: where on one it runs; None is this machine."""

    run_id: str
    graph_name: str
    pid: int | None = None
    label: str = ""
    kind: JobKind = "run"
    priority: Priority = "normal"
    admit_charges: dict[str, float] = {}
    admit_basis: dict[str, str] = {}
    started_at: str | None = None
    cancel_requested: bool = False
    gpus: list[str] = []
    servers: list[str] = []
    worker_count: int = 1
    marginal_vram_mb: float | None = None
    exclusive_gpu: bool = False
    cluster: ClusterNote | None = None


class QueueReport(msgspec.Struct, kw_only=True):
    """The queue in its order, and what runs. usable_vram_mb, reserved_vram_mb: None where nothing is measured
    or declared. measured_free_mb, pending_reservation_mb: pool (a card's UUID, or ``ram``) → MB.
    attribution: pool → ``{used_total_mb, external_mb, jobs_mb{run}, shared_mb{nodeset}}``. reservations_mb:
    pool → who (a run, a shared server, ``other backends``) → MB that it is yet to take.
    """

    queued: list[QueuedRun] = []
    running: list[RunningRun] = []
    paused: bool = False
    playing: str | None = None
    usable_vram_mb: float | None = None
    reserved_vram_mb: float | None = None
    measured_free_mb: dict[str, float] = {}
    pending_reservation_mb: dict[str, float] = {}
    attribution: dict[str, dict[str, Any]] = {}
    reservations_mb: dict[str, dict[str, float]] = {}

    def holds_mb(self, run_id: str) -> dict[str, float]:
        """What a run was last seen to hold: resource → MB."""
        return _by_resource({pool: told["jobs_mb"] for pool, told in self.attribution.items()}, run_id)

    def reserved_mb(self, run_id: str) -> dict[str, float]:
        """What a run is yet to take: resource → MB."""
        return _by_resource(self.reservations_mb, run_id)


def _by_resource(pools: Mapping[str, Mapping[str, float]], run_id: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for pool, owners in pools.items():
        if mb := owners.get(run_id):
            resource = RAM if pool == RAM else "vram"
            found[resource] = found.get(resource, 0.0) + mb
    return dict(sorted(found.items(), reverse=True))


class ForeignProcess(msgspec.Struct, kw_only=True):
    """A process that is not ours. mb: None where the driver does not say."""

    pid: int
    name: str
    mb: float | None = None


class GpuReport(msgspec.Struct, kw_only=True):
    """A card: what it holds by run and by shared server, what others hold, what is reserved and not taken.

    utilization: %, power_w, temperature_c: None where the driver does not say. age_sec: of the sample.
    """

    uuid: str
    label: str
    name: str
    total_mb: float
    used_mb: float
    age_sec: float
    utilization: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    runs_mb: dict[str, float] = {}
    servers_mb: dict[str, float] = {}
    foreign: list[ForeignProcess] = []
    foreign_mb: float = 0.0
    reserved_mb: dict[str, float] = {}


class HostReport(msgspec.Struct, kw_only=True):
    """The host. runs_mb, servers_mb: main memory by run and by shared server; reserved_mb: not yet taken."""

    name: str
    cpu_count: int
    cpu_percent: float | None = None
    ram_total_mb: float | None = None
    ram_available_mb: float | None = None
    ram_age_sec: float | None = None
    disk_free_mb: float | None = None
    runs_mb: dict[str, float] = {}
    servers_mb: dict[str, float] = {}
    reserved_mb: dict[str, float] = {}


class ResourcesReport(msgspec.Struct, kw_only=True):
    """The machine now. driver: ``absent`` where there is no NVIDIA driver, ``failing`` where it does not
    answer. simulated: the machine is one of a simulation file."""

    driver: Literal["present", "absent", "failing"]
    gpus: list[GpuReport]
    host: HostReport
    problems: list[str] = []
    simulated: bool = False


class ResourceEstimate(msgspec.Struct, kw_only=True):
    """One resource. estimate_mb: None where a part of it is unknown. uncalibrated: those parts. basis: part →
    where its figure comes from. measured_free_mb: on the best single card, or of main memory."""

    estimate_mb: float | None
    uncalibrated: list[str] = []
    measured_free_mb: float | None = None
    basis: dict[str, str] = {}


class EstimateReport(msgspec.Struct, kw_only=True):
    """What a run would need; nothing is loaded. max_workers: the most that would start now, 0 for none.

    fits: whether it would start now; waits: why not, in words with numbers; refused: why it never can.
    """

    graph_name: str
    worker_count: int
    resources: dict[str, ResourceEstimate]
    max_workers: int
    fits: bool
    gpus: list[str] = []
    waits: str = ""
    refused: str = ""


class ServerReport(msgspec.Struct, kw_only=True):
    """A nodeset as it is served. state: ``installed`` is not loaded; ``failed`` did not load, and ``detail``
    says why. key: of the loaded server. kept: an operator loaded it. memory_mb: pool → MB."""

    name: str
    parallelism: Literal["shared", "replicated"]
    state: Literal["installed", "loading", "ready", "unloading", "failed"]
    detail: str = ""
    key: str = ""
    url: str = ""
    pid: int | None = None
    kept: bool = False
    users: list[str] = []
    gpus: list[str] = []
    memory_mb: dict[str, float] = {}

    @property
    def loaded(self) -> bool:
        return self.state == "ready"


class GraphEntry(msgspec.Struct, kw_only=True):
    """A saved graph that can be run by its name. origin: ``workspace``, or the nodeset that brings it."""

    name: str
    path: str
    origin: str
    description: str = ""


class IntrospectReport(msgspec.Struct, kw_only=True):
    """A graph's environment. metadata: ``{splits, episode_counts, metrics, …}``, or empty. split: the one
    that is played where a request names none. panel: its fields, with the values they may take."""

    graph_name: str
    env_nodeset: str | None
    loaded: bool
    metadata: dict[str, Any] = {}
    split: str = ""
    panel: dict[str, Any] | None = None


class BackendReport(msgspec.Struct, kw_only=True):
    """The live backend of a root. state: ``ending`` admits nothing more. notices: what its operator has to
    know (a queue file that was set aside, what happened while nobody watched), the newest last."""

    pid: int
    version: str
    root: str
    started_at: str
    url: str = ""
    socket: str = ""
    state: Literal["live", "ending"] = "live"
    notices: list[str] = []


class CancelReport(msgspec.Struct, kw_only=True):
    """``cancelling``: it runs, and its whole tree is being ended."""

    run_id: str
    status: Literal["cancelled", "cancelling"]


class PlayReport(msgspec.Struct, kw_only=True):
    """A run that is played by hand. waiting: it stands before ``step`` and wants to be told. budget: its last
    step, None where there is none."""

    run_id: str
    status: RunStatus
    waiting: bool = False
    step: int = 0
    budget: int | None = None
    node: str = ""
