"""What every pool of memory has free, and what of that is spoken for.

A pool is a card, or main memory. Of its measured free memory, each tenant has reserved what it is expected to
take and does not yet hold: a reservation shrinks as memory shows up, and comes back when memory is given
back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.scheduling.attribution import Foreign, Usage
from engine.scheduling.machine import RAM, Gpu, Sample
from engine.scheduling.need import Tenant
from engine.scheduling.policy import Policy, ram_floor_mb

DECLARED = "declared"
"""The one card of a machine without NVIDIA driver: nothing is measured, what was declared counts."""


@dataclass(frozen=True)
class Waiting:
    """Since when another backend has a run that waits until nothing unknown starts, and when it said so last:
    CLOCK_BOOTTIME seconds."""

    root: str
    since: float
    told_at: float


@dataclass(frozen=True)
class Neighbours:
    """Other backends of this host. pending: by pool, MB that theirs are yet to take. exclusive, occupied:
    cards by UUID. cold: a run of theirs of which nothing is known yet. waiting: those that wait for such
    runs. processes: pids at the top of what they have → what that is, in words.
    """

    pending: Mapping[str, float] = field(default_factory=dict)
    exclusive: frozenset[str] = frozenset()
    occupied: frozenset[str] = frozenset()
    cold: str | None = None
    waiting: tuple[Waiting, ...] = ()
    processes: Mapping[int, str] = field(default_factory=dict)


@dataclass
class Pool:
    """One account. total_mb: what programs may have. free_mb: measured. age_sec: of that measurement.

    ceiling_mb: the most that ours may hold together. foreign: processes that are not ours, the largest first.
    standing, shown: by owner. lasting: owners that waiting does not end.
    """

    key: str
    label: str
    total_mb: float
    free_mb: float
    ceiling_mb: float
    age_sec: float
    foreign: Sequence[Foreign] = ()
    foreign_mb: float = 0.0
    neighbours_mb: float = 0.0
    standing: dict[str, float] = field(default_factory=dict)
    shown: dict[str, float] = field(default_factory=dict)
    lasting: set[str] = field(default_factory=set)
    standing_mb: float = 0.0
    reserved_mb: float = 0.0

    def book(self, owner: str, standing_mb: float, shown_mb: float = 0.0) -> None:
        """Give ``owner`` that much, or that much more."""
        before = self.reserved_of(owner)
        self.standing[owner] = self.standing.get(owner, 0.0) + standing_mb
        self.shown[owner] = self.shown.get(owner, 0.0) + shown_mb
        self.standing_mb += standing_mb
        self.reserved_mb += self.reserved_of(owner) - before

    def reserved_of(self, owner: str) -> float:
        """What ``owner`` is yet to take."""
        return max(0.0, self.standing.get(owner, 0.0) - self.shown.get(owner, 0.0))

    @property
    def available_mb(self) -> float:
        """What a further tenant can have."""
        measured = self.free_mb - self.reserved_mb - self.neighbours_mb
        return min(measured, self.ceiling_mb - self.standing_mb)


@dataclass
class Card:
    """A card as something to be placed on. pool: its own memory, or the main memory where it has none."""

    uuid: str
    label: str
    pool: Pool
    fresh: bool
    owners: dict[str, Tenant] = field(default_factory=dict)
    exclusive: str | None = None
    neighbour_exclusive: bool = False
    neighbour_occupied: bool = False

    @property
    def name(self) -> str:
        return "The declared GPU memory" if self.uuid == DECLARED else f"GPU {self.label}"


@dataclass
class Accounts:
    """The whole machine. ``driver``, ``problems``: as the sample says them."""

    cards: dict[str, Card]
    ram: Pool | None
    tenants: dict[str, Tenant]
    driver: str
    problems: Sequence[str]
    foreign_ram: Foreign | None = None

    def pool(self, key: str) -> Pool | None:
        """An account by its key: a UUID, or ``ram``."""
        if key in self.cards:
            return self.cards[key].pool
        return self.ram if key == RAM else None


def open_accounts(
    sample: Sample,
    usage: Usage,
    tenants: Iterable[Tenant],
    neighbours: Neighbours,
    policy: Policy,
    now: float,
) -> Accounts:
    """Set up every account from what was measured and what is promised."""
    ram = _ram(sample, usage, neighbours, now)
    cards = {gpu.uuid: _card(gpu, ram, usage, neighbours, policy, now) for gpu in sample.gpus}
    if sample.driver == "absent" and not cards and policy.usable_vram_mb:
        cards[DECLARED] = _declared(policy.usable_vram_mb)
    usable = {uuid: card for uuid, card in cards.items() if card is not None}
    accounts = Accounts(usable, ram, {}, sample.driver, sample.problems, usage.foreign_ram)
    for tenant in tenants:
        _enter(accounts, tenant, usage.shown.get(tenant.owner, {}))
    return accounts


def emptied(accounts: Accounts) -> Accounts:
    """The same machine with nothing on it: what does not fit there never fits."""

    def empty(pool: Pool) -> Pool:
        return Pool(pool.key, pool.label, pool.total_mb, pool.total_mb, pool.ceiling_mb, 0.0)

    return _varied(accounts, empty, lambda tenant: False)


def cleared(accounts: Accounts, keeping: Collection[str]) -> Accounts:
    """The same machine when all of ours have ended but the lasting ones and ``keeping``, and nobody else.

    Only named processes of others count as staying: memory of no process is on its way back.
    """

    def stays(tenant: Tenant) -> bool:
        return tenant.lasting or tenant.owner in keeping

    def clear(pool: Pool) -> Pool:
        standing = {owner: mb for owner, mb in pool.standing.items() if stays(accounts.tenants[owner])}
        free = pool.total_mb - pool.foreign_mb
        new = Pool(pool.key, pool.label, pool.total_mb, free, pool.ceiling_mb, 0.0)
        for owner, mb in standing.items():
            new.book(owner, mb)
        return new

    return _varied(accounts, clear, stays)


def _varied(accounts: Accounts, change: Callable[[Pool], Pool], stays: Callable[[Tenant], bool]) -> Accounts:
    ram = change(accounts.ram) if accounts.ram else None
    cards = {}
    for uuid, card in accounts.cards.items():
        pool = ram if ram and card.pool is accounts.ram else change(card.pool)
        cards[uuid] = new = Card(uuid, card.label, pool, fresh=True)
        new.neighbour_exclusive, new.neighbour_occupied = card.neighbour_exclusive, card.neighbour_occupied
        new.owners = {owner: tenant for owner, tenant in card.owners.items() if stays(tenant)}
    tenants = {owner: tenant for owner, tenant in accounts.tenants.items() if stays(tenant)}
    return Accounts(cards, ram, tenants, accounts.driver, accounts.problems)


def _ram(sample: Sample, usage: Usage, neighbours: Neighbours, now: float) -> Pool | None:
    memory = sample.memory
    if memory is None:
        return None
    floor = ram_floor_mb(memory.total_mb)
    ours = sum(shown.get(RAM, 0.0) for shown in usage.shown.values())
    total = memory.total_mb - floor
    return Pool(
        key=RAM,
        label="the machine",
        total_mb=total,
        free_mb=max(0.0, memory.available_mb - floor),
        ceiling_mb=total,
        age_sec=now - memory.sampled_at,
        foreign=[usage.foreign_ram] if usage.foreign_ram else [],
        foreign_mb=max(0.0, memory.total_mb - memory.available_mb - ours),
        neighbours_mb=neighbours.pending.get(RAM, 0.0),
    )


def _card(
    gpu: Gpu, ram: Pool | None, usage: Usage, neighbours: Neighbours, policy: Policy, now: float
) -> Card | None:
    if gpu.unified and ram is None:
        return None
    foreign = usage.foreign.get(gpu.uuid, ())
    pool = Pool(
        key=gpu.uuid,
        label=f"GPU {gpu.label}",
        total_mb=gpu.total_mb,
        free_mb=gpu.total_mb - gpu.used_mb,
        ceiling_mb=min(gpu.total_mb, policy.usable_vram_mb or gpu.total_mb),
        age_sec=now - gpu.sampled_at,
        foreign=foreign,
        foreign_mb=sum(process.mb or 0.0 for process in foreign),
        neighbours_mb=neighbours.pending.get(gpu.uuid, 0.0),
    )
    return Card(
        uuid=gpu.uuid,
        label=gpu.label,
        pool=ram if gpu.unified and ram else pool,
        fresh=pool.age_sec <= policy.stale_after_sec,
        neighbour_exclusive=gpu.uuid in neighbours.exclusive,
        neighbour_occupied=gpu.uuid in neighbours.occupied,
    )


def _declared(usable_mb: float) -> Card:
    pool = Pool(DECLARED, "the declared GPU memory", usable_mb, usable_mb, usable_mb, 0.0)
    return Card(DECLARED, DECLARED, pool, fresh=True)


def _enter(accounts: Accounts, tenant: Tenant, shown: Mapping[str, float]) -> None:
    accounts.tenants[tenant.owner] = tenant
    for key in {*tenant.claims, *tenant.peaks, *shown}:
        if pool := accounts.pool(key):
            pool.book(tenant.owner, tenant.standing_mb(key), shown.get(key, 0.0))
            if tenant.lasting:
                pool.lasting.add(tenant.owner)
    for uuid in tenant.cards:
        if card := accounts.cards.get(uuid):
            card.owners[tenant.owner] = tenant
            if tenant.exclusive:
                card.exclusive = tenant.owner
