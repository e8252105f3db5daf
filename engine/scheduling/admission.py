"""Who starts now, who never can, and why the others wait: one pure function of the queue and a sample.

Every estimate must fit what is measured free less what is reserved. What was not measured, or too long ago,
admits nothing. A job that does not fit is passed over until it has waited its fair wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.scheduling.accounts import Accounts, Neighbours, emptied, open_accounts
from engine.scheduling.attribution import NOTHING_SEEN, Usage
from engine.scheduling.estimates import Estimate
from engine.scheduling.holds import Hold
from engine.scheduling.jobs import QueuedJob
from engine.scheduling.machine import Sample
from engine.scheduling.need import Tenant
from engine.scheduling.placement import Start, book, hold_for, never_fits, place, request_for
from engine.scheduling.policy import Policy
from engine.scheduling.reasons import Reason, duration, gb
from engine.scheduling.shortage import title
from engine.store.records import RunStatus


@dataclass(frozen=True)
class State:
    """All that a decision depends on, the sample and the time apart.

    queue: in order. estimates: of every queued run. tenants: running runs and shared servers. usage: whose
    memory the sample shows. outcomes: how the runs that others depend on stand; an absent one is not there.
    playing: a run that is being played by hand. ledger_busy: why the needs of other backends are not known.
    held_cards: run → the cards that were kept for it at the last decision.
    """

    policy: Policy
    queue: Sequence[QueuedJob] = ()
    paused: bool = False
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    tenants: Sequence[Tenant] = ()
    usage: Usage = NOTHING_SEEN
    neighbours: Neighbours = field(default_factory=Neighbours)
    outcomes: Mapping[str, RunStatus] = field(default_factory=dict)
    playing: str | None = None
    ledger_busy: str | None = None
    held_cards: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class Decisions:
    """starts: in order. refused: jobs that this machine can never take. waiting: every other job, with why.

    held_cards: for the next decision. accounts: the machine as it will be when the starts are done; None
    without a sample.
    """

    accounts: Accounts | None = None
    starts: list[Start] = field(default_factory=list)
    refused: dict[str, Reason] = field(default_factory=dict)
    waiting: dict[str, Reason] = field(default_factory=dict)
    held_cards: dict[str, tuple[str, ...]] = field(default_factory=dict)


def decide(state: State, sample: Sample | None, now: float) -> Decisions:
    """Go through the queue once. ``now``: CLOCK_BOOTTIME seconds."""
    if sample is None:
        unread = Reason("sampler_stale", "the machine has not been sampled yet")
        return Decisions(waiting={job.run_id: unread for job in state.queue})
    accounts = open_accounts(sample, state.usage, state.tenants, state.neighbours, state.policy, now)
    made = Decisions(accounts)
    bare = emptied(accounts)
    closed = _closed(state, sample, accounts)
    holds: list[Hold] = []
    for number, job in enumerate(state.queue):
        run_id = job.run_id
        if reason := job.blocked(state.outcomes, now):
            made.waiting[run_id] = reason
            continue
        estimate = state.estimates[run_id]
        if reason := never_fits(request_for(run_id, job.need, estimate, bare), bare):
            made.refused[run_id] = reason
            continue
        if closed:
            made.waiting[run_id] = closed
            continue
        request = request_for(run_id, job.need, estimate, accounts)
        placed = place(request, accounts, holds, spread=number + 1 == len(state.queue))
        if isinstance(placed, Start):
            made.starts.append(placed)
            book(placed, accounts)
            closed = _first_of_its_kind(run_id, state.policy) if placed.cold else None
            continue
        made.waiting[run_id] = placed
        waited = now - (now if job.eligible_since is None else job.eligible_since)
        if waited >= state.policy.fair_wait_sec:
            taken = {card for hold in holds for card in hold.cards}
            hold = hold_for(request, accounts, waited, state.held_cards.get(run_id, ()), taken)
            if hold:
                holds.append(hold)
                made.held_cards[run_id] = hold.cards
    return made


def _closed(state: State, sample: Sample, accounts: Accounts) -> Reason | None:
    """Why nothing at all starts now."""
    policy = state.policy
    if state.paused:
        return Reason("queue_paused", "the queue is paused")
    if state.playing:
        return Reason("interactive", f"{state.playing} is being played by hand")
    if sample.disk_free_mb is not None and sample.disk_free_mb < policy.disk_low_mb:
        free, needed = gb(sample.disk_free_mb), gb(policy.disk_low_mb)
        return Reason("disk_low", f"{free} GB are free where runs are written, {needed} are needed")
    if accounts.ram is None or accounts.ram.age_sec > policy.stale_after_sec:
        age = f"was last read {duration(accounts.ram.age_sec)} ago" if accounts.ram else "could not be read"
        return Reason("sampler_stale", f"the machine's memory {age}")
    if state.ledger_busy:
        return Reason("ledger_busy", state.ledger_busy)
    for tenant in state.tenants:
        if tenant.cold and not tenant.settled:
            return _first_of_its_kind(title(tenant.owner), policy)
    if state.neighbours.cold:
        return _first_of_its_kind(state.neighbours.cold, policy)
    return None


def _first_of_its_kind(who: str, policy: Policy) -> Reason:
    return Reason(
        "cold_start_wait",
        f"{who} is the first of its kind; others wait until it is known what that takes,"
        f" {duration(policy.cold_longest_sec)} at most",
    )
