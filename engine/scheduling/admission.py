"""Who starts now, who never can, and why the others wait: one pure function of the queue and a sample.

Every estimate must fit what is measured free less what is reserved. What was not measured, or too long ago,
admits nothing. A job that does not fit is passed over until it has waited its fair wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from engine.scheduling.accounts import Accounts, Neighbours, emptied, open_accounts
from engine.scheduling.attribution import NOTHING_SEEN, Usage
from engine.scheduling.elsewhere import start_elsewhere
from engine.scheduling.estimates import Estimate
from engine.scheduling.holds import Hold
from engine.scheduling.jobs import QueuedJob
from engine.scheduling.machine import RAM, Sample
from engine.scheduling.need import Tenant
from engine.scheduling.placement import hold_for, never_fits, place
from engine.scheduling.policy import Policy
from engine.scheduling.reasons import Reason, duration, gb
from engine.scheduling.requests import request_for
from engine.scheduling.seating import allowed_cards
from engine.scheduling.shortage import title
from engine.scheduling.starts import Start, book
from engine.store.records import RunStatus


@dataclass(frozen=True)
class State:
    """All that a decision depends on, the sample and the time apart.

    queue: in order. estimates: of every queued run; those that need the same may share one. tenants: running
    runs and shared servers. usage: whose memory the sample shows. outcomes: how the runs that others depend
    on stand; an absent one is not there. over: runs that have ended, and whose processes have not. playing: a
    run that is being played by hand. ledger_busy: why the needs of other backends are not known. held_cards:
    run → the cards that were kept for it at the last decision.
    """

    policy: Policy
    queue: Sequence[QueuedJob] = ()
    paused: bool = False
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    tenants: Sequence[Tenant] = ()
    usage: Usage = NOTHING_SEEN
    neighbours: Neighbours = field(default_factory=Neighbours)
    outcomes: Mapping[str, RunStatus] = field(default_factory=dict)
    over: Mapping[str, RunStatus] = field(default_factory=dict)
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
    made.waiting = {job.run_id: reason for job in state.queue if (reason := job.blocked(state.outcomes, now))}
    ready = [job for job in state.queue if job.run_id not in made.waiting]
    closed = _closed(state, sample, accounts)
    made.held_cards = dict(state.held_cards) if closed else {}
    going = _Round(state, accounts, made, closed, now)
    for number, job in enumerate(ready):
        going.consider(job, ready[number + 1 :])
    return made


class _Round:
    """One passage through the queue. What was found of a job holds for the next that needs the same, until
    something starts or is kept."""

    def __init__(
        self, state: State, accounts: Accounts, made: Decisions, closed: Reason | None, now: float
    ) -> None:
        self._state = state
        self._accounts = accounts
        self._bare = emptied(accounts)
        self._made = made
        self._closed = closed
        self._now = now
        self._holds: list[Hold] = []
        self._kept: set[str] = set()
        self._never: dict[_Same, Reason | None] = {}
        self._not_now: dict[_Same, Reason] = {}

    def consider(self, job: QueuedJob, behind: Sequence[QueuedJob]) -> None:
        """Start it, refuse it, or say why it waits. ``behind``: those that may start after it."""
        estimate = self._state.estimates[job.run_id]
        if job.on:
            self._send_away(job, estimate)
            return
        same = _same(job, estimate)
        if same not in self._never:
            self._never[same] = never_fits(request_for("", job.need, estimate, self._bare), self._bare)
        if reason := self._never[same]:
            self._made.refused[job.run_id] = reason
        elif closed := self._closed_to(job) or self._played(job):
            self._made.waiting[job.run_id] = closed
        elif found := self._not_now.get(same):
            self._wait(job, estimate, found)
        else:
            self._place(job, estimate, behind)

    def _send_away(self, job: QueuedJob, estimate: Estimate) -> None:
        """To the cluster, whose queue it waits in, whatever goes on here."""
        if self._closed is not None and self._closed.code in ("queue_paused", "disk_low"):
            self._made.waiting[job.run_id] = self._closed
        else:
            self._made.starts.append(start_elsewhere(job, estimate))

    def _closed_to(self, job: QueuedJob) -> Reason | None:
        """One that takes next to nothing starts beside those of which nobody knows yet what they take."""
        beside = job.kind == "score" and self._closed is not None and self._closed.code == "cold_start_wait"
        return None if beside else self._closed

    def _played(self, job: QueuedJob) -> Reason | None:
        """Beside a run that is played by hand nothing else starts."""
        playing = self._state.playing
        if playing is None or job.run_id == playing:
            return None
        return Reason("interactive", f"{playing} is being played by hand")

    def _place(self, job: QueuedJob, estimate: Estimate, behind: Sequence[QueuedJob]) -> None:
        request = request_for(job.run_id, job.need, estimate, self._accounts)
        later = partial(_largest, self._state.estimates, behind)
        placed = place(request, self._accounts, self._holds, later)
        if isinstance(placed, Reason):
            self._not_now[_same(job, estimate)] = placed
            self._wait(job, estimate, placed)
            return
        if placed.cold and (others := self._wait_longer_elsewhere(job)):
            self._made.waiting[job.run_id] = others
            return
        self._made.starts.append(placed)
        book(placed, self._accounts)
        self._not_now.clear()
        if placed.cold:
            self._closed = _first_of_its_kind(job.run_id, self._state.policy)

    def _wait_longer_elsewhere(self, job: QueuedJob) -> Reason | None:
        """Else who has many runs of which nothing is known would start one as the other ends, and another
        backend's would never find the moment between them. One that has stopped telling is not waited for."""
        since = self._now if job.eligible_since is None else job.eligible_since
        fresh = self._now - self._state.policy.stale_after_sec
        for other in self._state.neighbours.waiting:
            if other.since < since and other.told_at >= fresh:
                waited = duration(self._now - other.since)
                told = f"nothing is known yet of what it takes; a run of {other.root} has waited {waited}"
                return Reason("cold_start_wait", told)
        return None

    def _wait(self, job: QueuedJob, estimate: Estimate, reason: Reason) -> None:
        self._made.waiting[job.run_id] = reason
        waited = self._now - (self._now if job.eligible_since is None else job.eligible_since)
        if waited >= self._state.policy.fair_wait_sec and self._kept != self._accounts.cards.keys():
            self._keep(job, estimate, waited)

    def _keep(self, job: QueuedJob, estimate: Estimate, waited: float) -> None:
        """Keep a place for it, unless that is kept already: then its turn comes after that one's."""
        request = request_for(job.run_id, job.need, estimate, self._accounts)
        places = (
            {card.uuid for card in allowed_cards(request, self._accounts)} if request.needs_card else {RAM}
        )
        if places <= self._kept:
            return
        before = self._state.held_cards.get(job.run_id, ())
        hold = hold_for(request, self._accounts, waited, before, self._kept)
        if hold:
            self._holds.append(hold)
            self._kept.update(hold.cards or {RAM})
            self._not_now.clear()
            self._made.held_cards[job.run_id] = hold.cards


_Same = tuple[int, tuple[str, ...], bool, float | None]
"""What tells the needs of two jobs apart."""


def _same(job: QueuedJob, estimate: Estimate) -> _Same:
    return id(estimate), job.need.gpus, job.need.exclusive_gpu, job.need.marginal_vram_mb


def _largest(estimates: Mapping[str, Estimate], behind: Sequence[QueuedJob], most_mb: float) -> float:
    """The largest known need of a card here among the jobs ``behind`` that is not above ``most_mb``."""
    staying = (job for job in behind if not job.on)
    figures = (part.vram for job in staying for part in estimates[job.run_id].parts if part.vram)
    needs = (figure.mb + figure.margin_mb for figure in figures)
    return max((mb for mb in needs if mb <= most_mb), default=0.0)


def _closed(state: State, sample: Sample, accounts: Accounts) -> Reason | None:
    """Why nothing at all starts now."""
    policy = state.policy
    if state.paused:
        return Reason("queue_paused", "the queue is paused")
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
            if how := state.over.get(tenant.owner):
                return _just_over(tenant.owner, how)
            return _first_of_its_kind(title(tenant.owner), policy)
    if state.neighbours.cold:
        return _first_of_its_kind(state.neighbours.cold, policy)
    return None


def _just_over(run_id: str, how: RunStatus) -> Reason:
    return Reason("cold_start_wait", f"{run_id} is {how}, and its last processes are ending")


def _first_of_its_kind(who: str, policy: Policy) -> Reason:
    return Reason(
        "cold_start_wait",
        f"{who} is the first of its kind; others wait until it is known what that takes,"
        f" {duration(policy.cold_longest_sec)} at most",
    )
