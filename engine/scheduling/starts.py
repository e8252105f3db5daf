"""An admission: what is to be started, where, and what that will come to hold."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from engine.scheduling.accounts import Accounts
from engine.scheduling.estimates import Basis
from engine.scheduling.need import Claim, Tenant
from engine.store.records import NodesetNeed


class Seated(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant as it is to be. server: None for the run itself. load: whether it is to be started; a server
    that runs already only has new claims. cards: where it is counted. visible: the UUIDs for its
    ``CUDA_VISIBLE_DEVICES``; None is to leave that alone, where no driver tells the cards. after_sec: when
    past ones had reached their peak. lender: the folder of another backend's server, which is used
    instead.
    """

    owner: str
    server: NodesetNeed | None
    load: bool
    cards: tuple[str, ...]
    visible: tuple[str, ...] | None
    claims: Mapping[str, Claim]
    after_sec: float
    lender: str = ""


class JobAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of one node of a cluster. workers: environment workers that need CPUs there."""

    mem_mb: float
    gpus: int = 0
    workers: int = 0


class ClusterAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a cluster. on: ``slurm`` or ``slurm:PARTITION``. nodes: over so many the run is split,
    each with what ``run`` says. servers: nodeset → of the job that serves it."""

    on: str
    nodes: int
    run: JobAsk
    servers: Mapping[str, JobAsk] = {}

    @property
    def partition(self) -> str:
        return partition_of(self.on)


def partition_of(on: str) -> str:
    """The partition of ``slurm:PARTITION``; "" is the default one."""
    return on.partition(":")[2]


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """An admission. servers: all that the run uses. basis: ``vram`` and ``ram`` → where the run's figure
    comes from, None where there is none. ask: of the cluster that it goes to; None is this machine.
    """

    run_id: str
    run: Seated
    servers: tuple[Seated, ...]
    basis: Mapping[str, Basis | None]
    cold: bool
    exclusive: bool
    workers: int
    ask: ClusterAsk | None = None


def book(start: Start, accounts: Accounts) -> None:
    """Enter an admission into the accounts, so that the next one is measured against what is left."""
    for seated in (start.run, *start.servers):
        tenant = _tenant(seated, start, accounts)
        accounts.tenants[seated.owner] = tenant
        for key, claim in seated.claims.items():
            if pool := accounts.pool(key):
                more = claim.mb + claim.margin_mb - pool.standing.get(seated.owner, 0.0)
                pool.book(seated.owner, max(0.0, more))
        for card in (accounts.cards[uuid] for uuid in seated.cards if uuid in accounts.cards):
            card.owners[seated.owner] = tenant
            if tenant.exclusive:
                card.exclusive = seated.owner


def _tenant(seated: Seated, start: Start, accounts: Accounts) -> Tenant:
    is_run = seated is start.run
    if before := accounts.tenants.get(seated.owner):
        return msgspec.structs.replace(before, users=(*before.users, start.run_id))
    return Tenant(
        owner=seated.owner,
        cards=seated.cards,
        claims=seated.claims,
        cold=start.cold,
        exclusive=start.exclusive and is_run,
        users=() if is_run else (start.run_id,),
        workers=start.workers,
    )
